"""What an author writes in a kernel: ``trace.range`` and its kin. Always emitted, lowered or stripped by a build."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tltrace_nb.base.checks import wrong
from tltrace_nb.base.errors import TokenError

if TYPE_CHECKING:
    from tltrace_nb.core.compile.markers import AnnoToken, GroupScope, Per, RangeScope


class Marks:
    """The marks of a kernel. TileLang is imported by the first of them."""

    def group(self, name: str, lead: int = 0, *, per: Per = "group") -> GroupScope:
        """Who records the markers inside: thread ``lead`` of the block, as the author counts threads.

        ``per="warp"``: lane ``lead % 32`` of every warp; ``per="thread"``: every thread. In a warp-specialised kernel
        the lead is mapped into each role. Where the lead never passes, the first thread that does records.

        >>> with trace.group("consumer", lead=128):
        ...     with trace.range("mma", payload=k): ...
        """
        from tltrace_nb.core.compile.markers import GroupScope

        return GroupScope(name, lead, per)

    def range(self, name: str, lane: str = "main", payload: Any = None) -> RangeScope:
        """Time a span. ``payload`` is recorded at begin and end: an int, float, bool, or a TIR scalar of up to 32 bits.

        >>> for k in T.Pipelined(n, num_stages=3):
        ...     with trace.range("copy", payload=k):
        ...         T.copy(A[by * bm, k * bk], A_shared)
        """
        from tltrace_nb.core.compile.markers import RangeScope

        return RangeScope(name, lane, payload)

    def range_start(self, name: str, lane: str = "main", payload: Any = None) -> AnnoToken:
        """Begin a span where ``with`` does not fit; end it with ``range_end(token)``. Spans need not nest."""
        from tltrace_nb.core.compile.markers import open_range

        return open_range(name, lane, payload)

    def range_end(self, tok: AnnoToken | None) -> None:
        """End the span of a token, with the token's payload; ``None`` does nothing."""
        if tok is None:
            return
        from tltrace_nb.core.compile.markers import AnnoToken, close_range

        if not isinstance(tok, AnnoToken):
            wrong("tok", tok, "the token that range_start returned", TokenError)
        close_range(tok)

    def record(self, name: str, payload: Any = None, lane: str = "main") -> None:
        """Record one instant. ``payload`` as for ``range``."""
        from tltrace_nb.core.compile.markers import emit_instant

        emit_instant(name, payload, lane)

    def dag(self, src_name: str, dst_name: str) -> None:
        """Declare that a CTA's i-th ``src_name`` range leads to its i-th ``dst_name`` range: an arrow in the view."""
        from tltrace_nb.core.compile.markers import declare_flow

        declare_flow(src_name, dst_name)
