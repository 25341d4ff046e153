"""How much a view draws unless it is told."""

PAGE_EVENTS = 500_000
"""Most events in a page: it is some 1 MB, and shows its first picture within half a second."""
LIMIT = 2000
"""Most events that a figure draws one by one: about 5 s to the first paint."""
