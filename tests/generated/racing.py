"""Generated kernels, checked for races: what is found is TileLang's, or false.

In: a kernel and a way to build it. Out: the races of its device functions, and which of them have a reason. A generated
kernel synchronises nothing by itself, so a race in one is a fault of TileLang's or a false alarm. TileLang 0.1.15 has
six such faults, each seen in the device functions that it plans: a shared buffer used both in a pipeline and outside of
it gets the memory of one stage; copies to a buffer that nothing in the pipeline reads go to one place and are not
waited for, and others get its memory meanwhile; a ``while`` loop has no barrier between its turns; a copy in a loop
inside of a pipelined one is read without a wait; so is the first copy of a pipeline whose number of turns, known at run
time, is below its stages; a barrier that stands in one case of a branch is missing in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from generated.check import How
from generated.interpreter import inputs
from generated.nodes import Add, Body, For, If, Int, Kernel, Load, Move, Product, Sum, statements
from generated.nodes import walk as walk_nodes
from generated.render import render
from tltrace_nb.base.gpus import preset
from tltrace_nb.core.compile.active_threads import launches
from tltrace_nb.core.compile.ir import READ, is_region, post_order_visit, walk
from tltrace_nb.core.compile.schedule import Scheduler, resolve_target
from tltrace_nb.simulator.memory import Array
from tltrace_nb.simulator.races.kernel import Checked
from tltrace_nb.simulator.races.messages import Race
from tltrace_nb.simulator.statements import buffers_of
from tltrace_nb.simulator.storage import number


@dataclass(frozen=True)
class Outcome:
    """``alarms`` have no reason in what TileLang does, ``faults`` have; ``unknown``: why there is no answer."""

    alarms: tuple[Race, ...]
    faults: tuple[Race, ...]
    unknown: str


def races(kernel: Kernel, how: How) -> Outcome:
    """Check one kernel, built one way without markers. TileLang's own errors pass through."""
    target = resolve_target({"kind": "cuda", "arch": how.architecture})
    func = render(kernel, marked=False).build()
    with target:
        scheduled = Scheduler(target, how.pass_configs)(func)
    arrays = inputs(kernel)
    extents = _extents(scheduled, arrays)
    grids = [tuple(number(e, extents) for e in launch.grid) for launch in launches(scheduled)]
    checked = Checked(scheduled, target, how.pass_configs, preset(how.gpu), lambda _: "")
    found, unknown = checked.races(arrays, {str(var.name): n for var, n in extents.items()}, grids)
    reasons = _misplanned(scheduled)
    not_awaited, without_barrier = _misplanned_tiles(kernel)

    def is_fault(race: Race) -> bool:
        by_kind = not_awaited if "a wait for the copy" in race.missing else without_barrier
        return _only_copied(race) or any(f"{name}[" in race.element for name in reasons | by_kind)

    faults = tuple(filter(is_fault, found))
    return Outcome(tuple(race for race in found if race not in faults), faults, unknown)


def _only_copied(race: Race) -> bool:
    """Whether both sides are copies that nobody waited for, and nobody reads what they bring."""
    return all(side.who.startswith(("a TMA copy", "a cp.async copy")) for side in (race.first, race.second))


def _misplanned_tiles(kernel: Kernel) -> tuple[set[str], set[str]]:
    """Tiles whose copies are not waited for, and those between whose uses a barrier is missing."""
    not_awaited: set[str] = set()
    without_barrier: set[str] = set()
    for s, above in statements(kernel):
        if not isinstance(s, Load):
            continue
        loops = [a for a in above if isinstance(a, For)]
        first = next((i for i, loop in enumerate(loops) if loop.kind == "pipelined"), None)
        if first is not None:
            pipeline = loops[first]
            at_run_time = not isinstance(pipeline.extent, Int)
            if at_run_time or loops[first + 1 :] or s.tile not in _read(pipeline.body):
                not_awaited.add(s.tile)
        if any(isinstance(a, If) and any(s is inner for inner, _ in walk_nodes(a.other or ())) for a in above):
            without_barrier.add(s.tile)
    return not_awaited, without_barrier


def _read(body: Body) -> set[str]:
    """The tiles that a body reads."""
    found: set[str] = set()
    for s, _ in walk_nodes(body):
        found.update([s.a, s.b] if isinstance(s, Product) else [s.source] if isinstance(s, (Add, Move, Sum)) else [])
    return found


def _extents(scheduled: Any, arrays: Mapping[str, Array]) -> dict[Any, int]:
    """The values of the extents that are variables."""
    buffers = (scheduled.buffer_map[parameter] for parameter in scheduled.params)
    pairs = (pair for b in buffers for pair in zip(b.shape, arrays[str(b.name)].shape, strict=True))
    return {extent: n for extent, n in pairs if isinstance(extent, tirx.Var)}


def _misplanned(scheduled: Any) -> set[str]:
    """Shared buffers that are used in two sizes, or in a ``while`` loop, and those that nothing reads."""
    shapes: dict[str, set[tuple[int, ...]]] = {}
    read: set[str] = set()
    written: list[Any] = []

    def visit(node: Any) -> None:
        if is_region(node) and not int(node.args[1]) & READ:
            written.append(node.args[0])
        if not isinstance(node, (tirx.BufferLoad, tirx.BufferStore)):
            return
        if str(node.buffer.scope()).startswith("shared"):
            shapes.setdefault(str(node.buffer.name), set()).add(tuple(int(e) for e in node.buffer.shape))

    def reads(node: Any) -> None:
        if isinstance(node, tirx.BufferLoad) and not any(node.same_as(one) for one in written):
            read.add(str(node.buffer.name))

    post_order_visit(scheduled.body, visit)
    post_order_visit(scheduled.body, reads)
    loops = [s.body for s, _ in walk(scheduled.body) if isinstance(s, tirx.While)]
    in_turns = {str(buffer.name) for body in loops for buffer in buffers_of(body)}
    return {name for name, found in shapes.items() if len(found) > 1 or name not in read or name in in_turns}
