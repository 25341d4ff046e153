"""The switch of ``trace``: whether kernels built now are traced, with which options, and where they run.

In: what ``enable`` and ``tracing`` take. Out: :class:`Tracing`, whose position is that of the process, or of the block.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from tltrace_nb.base.checks import checked, file, flag, optional
from tltrace_nb.base.notices import say
from tltrace_nb.core.compile.auto.options import Auto
from tltrace_nb.core.compile.devices import AUTO, check_device, model_of
from tltrace_nb.core.compile.options import DEFAULT_BUDGET, Recorded, TraceOptions
from tltrace_nb.core.runtime.blocks import BLOCKS
from tltrace_nb.core.runtime.kept import LaunchesToKeep, Policy, Section


@dataclass(frozen=True, slots=True)
class Position:
    """One position of the switch."""

    enabled: bool = False
    output: str = "debug"
    device: str = AUTO
    options: TraceOptions = field(default_factory=TraceOptions)
    section: Section = field(default_factory=Section)


class Tracing:
    """The switch, in one position at a time.

    ``enable`` and ``disable`` are local to the process. In a ``tracing`` block, which holds for those that
    ``runtime.blocks`` names, they are local to the block, and end with it.
    """

    def __init__(self) -> None:
        self._outside = Position()
        self._sections = itertools.count(1)
        self._said_virtual = False
        self.say: Callable[[str], None] = _say
        """How a line of ours is said beside a program's own output; default: ``[tltrace]`` in front, on stdout."""

    @property
    def _state(self) -> Position:
        block = BLOCKS.innermost(self)
        state: Position = self._outside if block is None else block.value
        return state

    @_state.setter
    def _state(self, state: Position) -> None:
        block = BLOCKS.innermost(self)
        if block is None:
            self._outside = state
        else:
            block.value = state

    @property
    def enabled(self) -> bool:
        """Whether kernels built now are traced (default ``False``)."""
        return self._state.enabled

    @property
    def output(self) -> str:
        """Folder that ``dump`` writes to (default ``"debug"``)."""
        return self._state.output

    @property
    def options(self) -> TraceOptions:
        """The options that kernels built now are traced with."""
        return self._state.options

    @property
    def keep_launches(self) -> Policy:
        """Which launches of a kernel and shape stay in ``history``."""
        return self._state.section.policy

    @property
    def device(self) -> str:
        """Where ``@trace.jit`` kernels that are built with tracing on run.

        ``"cuda"``; ``"virtual"`` or ``"virtual:MODEL"``, the virtual GPU; ``"auto"`` (default): CUDA where there is a
        device, else the virtual GPU. Setting it raises ``ValueError`` for anything else.
        """
        return self._state.device

    @device.setter
    def device(self, device: str) -> None:
        self._state = replace(self._state, device=check_device("device", device))

    def model(self) -> str | None:
        """The GPU model that kernels built now are simulated on, ``None`` on a CUDA device; says so once."""
        model = model_of(self.device)
        if model is not None and self.device == AUTO and not self._said_virtual:
            self.say(f"no CUDA device here: kernels are traced on the virtual GPU ({model} model)")
            self._said_virtual = True
        return model

    @checked(output=file, device=optional(check_device))
    def enable(
        self,
        output: str = "debug",
        *,
        device: str | None = None,
        max_events: int | None = None,
        keep: Literal["first", "last"] = "first",
        ctas: Recorded | None = None,
        budget: int = DEFAULT_BUDGET,
        auto: Auto = None,
        keep_launches: LaunchesToKeep | None = None,
    ) -> None:
        """Trace the kernels that are built from now on, until the end of the ``tracing`` block, if it is in one.

        ``output``: folder for dumps. ``device``: where ``@trace.jit`` kernels run, as the attribute of that name.
        ``max_events``: records per writer, ``None`` for what the kernel's loops need.
        ``keep``: which records survive when there are more. ``ctas``: of each launch trace at most the first n CTAs, a
        range, these ids, or a ``"sample"``: the first wave and one in 17 of the others, as of launches of 16,384 CTAs
        and more by default. CTAs that do not record run the untraced code. ``budget``: bytes that the slots may take;
        what the author leaves open, CTAs first, is cut to them. ``auto``: mark what the author has not, see ``auto``;
        ``True`` or what its ``on`` takes.
        ``keep_launches``: which launches of a kernel and shape stay in ``history``: ``"first"``, ``"last"``,
        ``"slowest"`` (default: these three), ``"all"``, a number (the latest so many), ``"every 10"``, or several.

        >>> trace.enable()
        >>> trace.enable("out/traces", ctas=8, keep_launches="first, every 100")
        """
        where = self.device if device is None else device
        options = TraceOptions.of(max_events, keep, ctas, budget, auto)
        policy = Policy.of(keep_launches)
        self._state = Position(True, output, where, options, Section(next(self._sections), policy))

    def disable(self) -> None:
        """Strip the markers of the kernels that are built from now on."""
        self._state = replace(self._state, enabled=False)

    @checked(enabled=flag, output=optional(file), everywhere=flag)
    @contextlib.contextmanager
    def tracing(
        self, enabled: bool = True, output: str | None = None, *, everywhere: bool = False, **options: Any
    ) -> Iterator[Self]:
        """Turn tracing on (or off) for a block; ``options`` as ``enable``.

        It holds in the block, and in the threads and asyncio tasks that are started there, until the block ends. Other
        threads and tasks see nothing of it, unless it is to hold ``everywhere`` in the process.

        >>> with trace.tracing(max_events=1024):
        ...     kernel = build()
        """
        before = self._state
        with BLOCKS.opened(self, before, everywhere):
            if enabled:
                self.enable(output or before.output, **options)
            else:
                self.disable()
            yield self

    def _traced(self, traced: bool | None) -> bool:
        return self.enabled if traced is None else traced


def _say(line: str) -> None:
    say(f"[tltrace] {line}", sys.stdout)
