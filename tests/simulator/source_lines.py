"""Where a line of a test module is, as errors name it."""

from pathlib import Path

from tltrace_nb.core.compile.ir import shown_source


def line_of(file: str, comment: str) -> str:
    """``file:line`` of the one line that ends with a comment."""
    (line,) = (n for n, text in enumerate(Path(file).read_text().splitlines(), 1) if text.endswith(f"  # {comment}"))
    return shown_source(file, line)
