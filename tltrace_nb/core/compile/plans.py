"""A traced kernel runs on the bare kernel's plan: its shared memory, barriers, fences, guards and loops.

In: a lowering, and the module that TileLang has planned for the recording kernel. Out: the module with the bare
kernel's device functions, records in them, and a note where one could not be had.

TileLang's passes behind layout inference see a record as one more statement, and may plan otherwise for it. (They may
also plan otherwise without a reason: some go through tables in the order of addresses, and build one kernel in two
ways.) So the bare kernel is planned beside the recording one, in the same process, and has the last word.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from tilelang import tvm
from tvm import tirx

from tltrace_nb.core.compile.ir import op_name, walk
from tltrace_nb.core.compile.lowering import Lowering
from tltrace_nb.core.compile.same import same, same_host, untraced
from tltrace_nb.core.compile.schedule import planned
from tltrace_nb.core.compile.transplant import transplanted
from tltrace_nb.core.compile.two_bodies import with_plain_body
from tltrace_nb.data.chosen import Cut
from tltrace_nb.data.sites import EventKind, SiteTable


class BarePlan:
    """The bare kernel's plan in one build of a traced kernel.

    Once it is built, ``bare`` is the bare kernel's planned module, and ``note`` says what of it could not be kept.
    """

    def __init__(self, lowering: Lowering, target: Any):
        self._lowering = lowering
        self._target = target
        self.bare: Any = None
        self.note = ""

    def at_device(self, module: Any) -> Any:
        """The planned module with the bare kernel's device functions; for ``schedule.context_with``."""
        for _ in range(_ATTEMPTS):
            self.bare = planned(self._lowering.bare, self._target)
            functions, self.note = self._recording(module)
            if not self.note:
                break
        for name, func in functions.items():
            module.update_func(name, func)
        if _some_do_not_record(self._lowering.table):
            for kernel, func in device_functions(module).items():
                module.update_func(module.get_global_var(kernel), with_plain_body(func))
        return module

    def _recording(self, module: Any) -> tuple[dict[Any, Any], str]:
        """The device functions that change for the bare plan, and a note if they should and cannot."""
        traced, bare = device_functions(module), device_functions(self.bare)
        name = self._lowering.marked.name
        pairs = {kernel: (func, bare[kernel]) for kernel, func in traced.items()}
        if not same_host(_host(module), _host(self.bare), pairs):
            return {}, _note(name, "what the host passes to it")
        ends = frozenset(site.id for site in self._lowering.table.sites if site.kind is EventKind.RANGE_END)
        changed, note = {}, ""
        for kernel, (func, its_bare) in pairs.items():
            if same(func, its_bare):
                continue
            result = transplanted(func, its_bare, ends)
            if result is not None:
                changed[module.get_global_var(kernel)] = result
            else:
                note = note or difference(name, func, its_bare)
        return changed, note


def note_again(lowering: Lowering, scheduled: Any, target: Any) -> str:
    """What TileLang plans otherwise for a recording kernel that it compiles by itself, scheduled; empty if nothing.

    Runs in the current pass context.
    """
    ours = device_functions(planned(scheduled, target))
    found = ""
    for _ in range(_ATTEMPTS):
        bare = device_functions(planned(lowering.bare, target))
        different = [name for name, func in ours.items() if not same(func, bare[name])]
        if not different:
            return ""
        found = found or difference(lowering.marked.name, ours[different[0]], bare[different[0]])
    return f"{found}; @trace.jit keeps the plan"


def _some_do_not_record(table: SiteTable) -> bool:
    """Whether it is certain that CTAs will not record: a cut is made once the grid is known, and mostly is none."""
    known = all(None not in launch.grid for launch in table.launches)
    return table.ctas is not None and (known or not isinstance(table.ctas, Cut))


_ATTEMPTS = 3
"""How often the bare kernel is planned, as TileLang may plan it in more than one way."""


def device_functions(module: Any) -> dict[str, Any]:
    """The device functions of a planned module by name."""
    return {name.name_hint: func for name, func in module.functions.items() if is_device(func)}


def _host(module: Any) -> Any:
    """The host function of a planned module."""
    (func,) = [func for func in module.functions.values() if not is_device(func)]
    return func


def is_device(func: Any) -> bool:
    """Whether a function of a planned module is a kernel."""
    return bool((func.attrs or {}).get("tirx.is_global_func", False))


def difference(kernel: str, traced: Any, bare: Any) -> str:
    """How the plan of a traced device function differs from the bare one's, in words."""
    ours, theirs = _measures(traced), _measures(bare)
    found = [f"{what} {ours[what]:,} instead of {theirs[what]:,}" for what in _MEASURES if ours[what] != theirs[what]]
    what = ", ".join(found) if found else "statements in another order"
    return _note(kernel, what)


def _note(kernel: str, what: str) -> str:
    return f"TileLang plans kernel {kernel} otherwise when it records ({what}), so its times may differ"


_MEASURES = ("bytes of shared memory", "barriers", "proxy fences", "branches", "loops")


def _measures(func: Any) -> Counter[str]:
    counted: Counter[str] = Counter()
    for statement, _ in walk(untraced(func.body)):
        name = op_name(statement)
        if isinstance(statement, tirx.AllocBuffer) and str(statement.buffer.scope()).startswith("shared"):
            counted["bytes of shared memory"] += _bytes(statement.buffer)
        counted["barriers"] += name == "tirx.tvm_storage_sync"
        counted["proxy fences"] += name == "tl.fence_proxy_async"
        counted["branches"] += isinstance(statement, tirx.IfThenElse)
        counted["loops"] += isinstance(statement, tirx.For)
    return counted


def _bytes(buffer: Any) -> int:
    extents = [int(extent) for extent in buffer.shape if isinstance(extent, tirx.IntImm)]
    return math.prod(extents) * int(tvm.DataType(str(buffer.dtype)).itemsize)
