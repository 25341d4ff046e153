"""A kernel on the virtual GPU, from its tensors to its outputs and its slots.

In: a compiled kernel (``compiling``), and inputs. Out: the outputs, as a compiled kernel returns them, and a
:class:`Simulated`: the slots, filled as a GPU fills them, and what is to be said of the run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)

from tltrace_nb.base.gpus import Gpu, occupancy
from tltrace_nb.base.notices import say_once
from tltrace_nb.core.compile.active_threads import LaunchShape
from tltrace_nb.core.compile.lowering import Lowering
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.compile.schedule import resolve_target
from tltrace_nb.data.left_out import slots_rows
from tltrace_nb.data.sites import rows_at
from tltrace_nb.simulator.batch.program import Batched, compile_batched
from tltrace_nb.simulator.batch.running import MANY, BatchLayout, in_batches
from tltrace_nb.simulator.binding import Bound, bind, left_unwritten
from tltrace_nb.simulator.classes import Classes, classes
from tltrace_nb.simulator.engine import STEP_LIMIT, Engine, Launch, Progress
from tltrace_nb.simulator.errors import RaceError, SimulationError, UnwrittenError
from tltrace_nb.simulator.footprint import footprint, shared_buffers
from tltrace_nb.simulator.memory import Array, dtype_of
from tltrace_nb.simulator.pointers import behind_pointers
from tltrace_nb.simulator.program import Program
from tltrace_nb.simulator.races.kernel import Checked
from tltrace_nb.simulator.recording import Recorder
from tltrace_nb.simulator.repeating import repeated
from tltrace_nb.simulator.sampling import BESIDE_VALUES, LEAST_WAVES
from tltrace_nb.simulator.source_lines import lines
from tltrace_nb.simulator.spills import note as spill_note
from tltrace_nb.simulator.storage import Layout, number
from tltrace_nb.simulator.thread_groups import accesses
from tltrace_nb.simulator.unwritten import Before, Watch, settle, stored

RACES = ("note", "error", "off")
"""What a race may be: a note, an error, or nothing that anybody looks for."""
_SHOWN_RACES = 3
"""Races that a trace's note names."""


@dataclasses.dataclass
class Simulated:
    """One run as it goes on: slots that fill, and, once it is over, its ``note`` and its ``work`` (flop, bytes).

    ``slots`` is ``int64[rows, writers, words]``, ``resources`` the registers per thread and the bytes of shared memory
    per CTA of each launch.
    """

    slots: npt.NDArray[np.int64]
    grids: tuple[tuple[int, int, int], ...]
    resources: tuple[tuple[int, int], ...]
    note: str = ""
    work: tuple[float, float] | None = None


@dataclasses.dataclass(frozen=True)
class SimulatedKernel:
    """A kernel scheduled and compiled for one virtual GPU; ``execute`` it on any inputs.

    ``ready`` is the scheduled, recording PrimFunc, the IR that the CUDA path compiles next.
    """

    lowering: Lowering
    ready: Any
    gpu: Gpu
    options: TraceOptions
    shapes: tuple[LaunchShape, ...]
    programs: tuple[Program, ...]
    annotations: tuple[dict[str, Any], ...]
    functional: bool
    uninitialised: str
    guarded: bool
    every_cta: bool
    races: str
    checked: Checked

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.lowering.table.kernel

    def execute(
        self,
        inputs: Sequence[Any],
        out_idx: Sequence[int] | int | None = None,
        *,
        started: Callable[[Simulated], None] | None = None,
        progress: Progress | None = None,
        step_limit: int = STEP_LIMIT,
    ) -> tuple[Any, Simulated]:
        """The outputs and the slots of one run. ``out_idx`` as ``tilelang.compile``.

        ``started`` gets the slots before they fill, which keep what was recorded when the run is interrupted;
        ``progress`` is called now and then, with the number of CTAs that are done and of all. ``step_limit``:
        iterations of loops without a known end that a thread may take. Errors as ``binding.bind`` for arguments.
        """
        bound = bind(self.name, self.ready, inputs, out_idx)
        arrays, scalars = bound.arrays, bound.scalars
        given = set(arrays)
        self._workspace(arrays, scalars)
        table = self.lowering.table
        grids: list[tuple[int, int, int]] = []
        for shape in self.shapes:
            x, y, z = (number(e, scalars) for e in shape.grid)
            grids.append((x, y, z))
        rows = slots_rows(table, tuple(grids))
        writers, words = (int(e) for e in self.lowering.slots.shape[1:])
        slots = np.zeros((rows, writers, words), np.int64)
        taken = (footprint(program, self.gpu, scalars) for program in self.programs)
        simulated = Simulated(slots, tuple(grids), tuple((each.registers, each.shared) for each in taken))
        spills = (spill_note(program.shape, program.spreads, self.gpu) for program in self.programs)
        simulated.note = "; ".join(dict.fromkeys(filter(None, spills)))
        if started is not None:
            started(simulated)
        raced = self._check_races(simulated, arrays, scalars)

        engine = Engine(self.gpu, Recorder(slots, table.tag), progress, step_limit)

        def launched(watch: Watch | None = None, together: bool = False) -> None:
            nonlocal engine
            recorder = Recorder(slots, table.tag)
            engine = Engine(self.gpu, recorder, progress, step_limit)
            for i, (program, grid, notes) in enumerate(zip(self.programs, grids, self.annotations, strict=True)):
                recorder.chosen = None if table.ctas is None else table.ctas.of_launch(i, grid).ids()
                tracked = self.uninitialised != "zero"
                layout = Layout(
                    self.name, program, arrays, bound.written, scalars, grid, notes, tracked, self.guarded, watch
                )
                places = self._places(program, scalars)
                touched = sum(arrays[data].nbytes for data in {*accesses(program.shape.body)} if data in arrays)
                launch = Launch(
                    self.name, program, grid, layout.cluster, places, layout.values, layout.make_cta, touched
                )
                first_row = rows_at(table, tuple(grids[:i]))
                found, said = None, None
                if not self.functional and self._is_large(launch):
                    found = classes(self.shapes[i], grid, scalars, arrays)
                if together:
                    said = self._in_batches(engine, launch, i, bound, slots, first_row)
                elif found is not None:
                    said = self._repeated(engine, launch, i, slots, first_row, found)
                if said is None:
                    engine.run(launch)
                else:
                    simulated.note = "; ".join(filter(None, (simulated.note, said)))

        passed = [a for data, a in arrays.items() if data in self._stored and data in given - set(bound.written)]
        made = [slots, *bound.written.values(), *(a for d, a in arrays.items() if d in bound.written or d not in given)]
        noted = simulated.note
        together = not raced and self._may_batch(simulated, arrays)
        before = Before(passed if self.uninitialised == "note" or together else [], made)
        try:
            try:
                try:
                    launched(together=together)
                except SimulationError:
                    if not together:
                        raise
                    before.restore()
                    simulated.note = noted
                    launched()
            except UnwrittenError as error:
                if self.uninitialised == "error" or any(behind_pointers(s.body) for s in self.shapes):
                    raise  # what lies behind a pointer cannot be brought back

                def watched(watch: Watch) -> Any:
                    launched(watch)
                    return watch.end(engine.now, slots)

                try:
                    settle(watched, before, given, error)
                except UnwrittenError:
                    before.restore()
                    with contextlib.suppress(UnwrittenError):
                        launched()  # the trace is that of the run which failed
                    raise
                said = f"{error} (no output, branch or address depends on it)"
                simulated.note = "; ".join(filter(None, (simulated.note, said)))
        finally:
            bound.pack()
            for line in engine.printed if self.functional else ():
                print(line)
        if self.functional and (left := left_unwritten(bound)):
            left = f"kernel {self.name}: {left}; round its CTAs and iterations up, with T.ceildiv"
            say_once(left)
            simulated.note = "; ".join(filter(None, (simulated.note, left)))
        simulated.work = engine.flop, float(sum(a.nbytes for a in arrays.values()))
        match bound.outputs:
            case []:
                return None, simulated
            case [output]:
                return output, simulated
            case outputs:
                return tuple(outputs), simulated

    def _check_races(self, simulated: Simulated, arrays: dict[Any, Array], scalars: dict[Any, int]) -> bool:
        """Note the races of this call, or raise ``RaceError``; whether there are any."""
        if self.races == "off":
            return False
        tensors, numbers = {str(d.name): a for d, a in arrays.items()}, {str(v.name): n for v, n in scalars.items()}
        found, unknown = self.checked.races(tensors, numbers, simulated.grids)
        if found and self.races == "error":
            error = RaceError("\n  ".join([f"kernel {self.name}:", *map(str, found)]))
            error.races = tuple(found)
            raise error
        said = [str(race) for race in found[:_SHOWN_RACES]]
        if len(found) > _SHOWN_RACES:
            said.append(f"{len(found) - _SHOWN_RACES} more races")
        if unknown:
            said.append(f"not checked for races: {unknown}")
        simulated.note = "; ".join(filter(None, (simulated.note, *said)))
        return bool(found)

    @functools.cached_property
    def _stored(self) -> frozenset[Any]:
        """The data of the buffers that the kernel may write."""
        return frozenset(data for shape in self.shapes for data in stored(shape.body))

    @functools.cached_property
    def _batched(self) -> tuple[Batched | str, ...]:
        """Its launches, compiled for many CTAs at once, or why not."""
        with resolve_target({"kind": "cuda", "arch": self.gpu.architecture}):
            return tuple(
                compile_batched(
                    self.name,
                    shape,
                    self.gpu,
                    annotations,
                    list(self.ready.buffer_map.values()),
                    program.spreads,
                    lines(shape.body, self.lowering.marked.func, self.lowering.table, number),
                )
                for number, (shape, program, annotations) in enumerate(
                    zip(self.shapes, self.programs, self.annotations, strict=True)
                )
            )

    def _may_batch(self, simulated: Simulated, arrays: dict[Any, Array]) -> bool:
        """Whether CTAs of this run may be run together: a grid is large, and what they write is nothing else, too."""
        if not self.functional or self.every_cta or all(math.prod(grid) < MANY for grid in simulated.grids):
            return False
        written = [data for data in arrays if data in self._stored]
        others = ((one, other) for one in written for other in arrays if other is not one)
        return not any(np.may_share_memory(arrays[one], arrays[other]) for one, other in others)

    def _in_batches(
        self, engine: Engine, launch: Launch, number: int, bound: Bound, slots: Any, first_row: int
    ) -> str | None:
        """Run a launch by a sample of its CTAs, compute the values of all of them together, and say so.

        ``None``, with nothing done, where all of them are to run one by one.
        """
        batched = self._batched[number]
        found = classes(self.shapes[number], launch.grid, bound.scalars, bound.arrays)
        if isinstance(batched, str) or found is None:
            return None
        given = (bound.arrays, bound.written, bound.scalars, launch.grid, self.annotations[number])
        layout = Layout(self.name, batched.times, *given, False, self.guarded)
        times = dataclasses.replace(launch, program=batched.times, scalars=layout.values, make_cta=layout.make_cta)
        progress, engine.progress = engine.progress, None
        said = None
        if self._is_large(launch):
            said = self._repeated(engine, times, number, slots, first_row, found, BESIDE_VALUES)
        if said is None:
            engine.run(times)
        tracked = self.uninitialised != "zero"
        together = BatchLayout(batched.stored, self.name, batched.values, *given, tracked, self.guarded)
        count = in_batches(together, self.gpu, found.of, engine.step_limit, progress)
        return "; ".join(filter(None, (said, f"the values of all CTAs were computed in {count:,} batches")))

    def _is_large(self, launch: Launch) -> bool:
        """Whether a sample may stand for all CTAs of a launch."""
        return not self.every_cta and math.prod(launch.grid) > LEAST_WAVES * launch.places * self.gpu.sms

    def _repeated(
        self,
        engine: Engine,
        launch: Launch,
        number: int,
        slots: Any,
        first_row: int,
        found: Classes,
        budget: float = 1.0,
    ) -> str | None:
        """Run a launch by a sample of its CTAs, and say so; ``None`` where all of them are to run."""
        total = math.prod(launch.grid)
        chosen = self.lowering.table.ctas
        rows = np.full(total, -1)
        ids = np.arange(total) if chosen is None else chosen.of_launch(number, launch.grid).ids()
        rows[ids] = first_row + np.arange(len(ids))
        return repeated(engine, launch, found, rows, slots, self.lowering.table.tag, budget)

    def _workspace(self, arrays: dict[Any, Array], scalars: dict[Any, int]) -> None:
        """Make the arrays of global buffers that the kernel allocates for itself, the same in all its launches."""
        for program in self.programs:
            for use in program.buffers:
                if use.scope == "global" and use.buffer.data not in arrays:
                    shape = tuple(number(e, scalars) for e in use.buffer.shape)
                    arrays[use.buffer.data] = np.zeros(shape, dtype_of(str(use.buffer.dtype)))

    def _places(self, program: Program, scalars: dict[Any, int]) -> int:
        """CTAs that an SM holds."""
        try:
            return occupancy(self.gpu, footprint(program, self.gpu, scalars)).ctas
        except ValueError as error:
            sizes = sorted(((size, name) for name, size in shared_buffers(program, scalars).items()), reverse=True)
            held = "; shared: " + ", ".join(f"{name} {size:,}" for size, name in sizes) if sizes else ""
            where = f"kernel {self.name}, {program.launch_line}" if program.launch_line else f"kernel {self.name}"
            advice = "give it smaller tiles, fewer stages or fewer threads"
            raise SimulationError(f"{where}: {error}{held}; {advice}") from None
