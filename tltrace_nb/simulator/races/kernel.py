"""A kernel whose accesses can be checked for races, whatever it is called with.

In: the scheduled kernel, its target. Out: :class:`Checked`, which gives the races of one call. The device functions are
those that TileLang would compile: its passes have chosen layouts, merged shared memory, and added barriers and fences.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
import tvm
from tvm import tirx

from tltrace_nb.base.attached import attached
from tltrace_nb.base.gpus import Gpu
from tltrace_nb.core.compile.ir import Stmt, op_name, source_of, walk
from tltrace_nb.core.compile.schedule import pass_context, planned
from tltrace_nb.simulator.errors import UnsupportedError
from tltrace_nb.simulator.memory import Array
from tltrace_nb.simulator.races.check import Found, check
from tltrace_nb.simulator.races.device_code import DeviceProgram, compile_device
from tltrace_nb.simulator.races.device_lines import device_lines, noted
from tltrace_nb.simulator.races.messages import Race, Words
from tltrace_nb.simulator.thread_groups import accesses
from tltrace_nb.simulator.unwritten import stored


@dataclass(frozen=True)
class Checked:
    """``scheduled``: the kernel without markers; ``line_of``: the ``file:line`` of its statements."""

    scheduled: Any
    target: Any
    pass_configs: dict[str, Any] | None
    gpu: Gpu
    line_of: Callable[[Stmt], str]

    def races(
        self, arrays: Mapping[str, Array], scalars: Mapping[str, int], grids: Sequence[tuple[int, int, int]]
    ) -> tuple[list[Race], str]:
        """The races of a call, and why it could not be looked at to its end, empty if it could.

        ``arrays`` and ``scalars`` are the arguments by name; none is changed.
        """
        if not may_race(self.scheduled):
            return [], ""
        if isinstance(self.programs, str):
            return [], self.programs
        depends = any(use.valued and use.scope == "global" for program in self.programs for use in program.memories)
        key = None if depends else (tuple(sorted(scalars.items())), tuple(grids))
        if key not in self._answers or key is None:
            found = check(self.programs, arrays, scalars, grids)
            self._answers[key] = self._in_words(found, self.programs), found.unknown
        return self._answers[key]

    @functools.cached_property
    def _answers(self) -> dict[Any, tuple[list[Race], str]]:
        """What came of calls, by all that the answer depends on."""
        return {}

    @functools.cached_property
    def programs(self) -> list[DeviceProgram] | str:
        """The device functions as programs, or why there are none."""
        return _programs(_Planned(self))

    def functions(self, scheduled: Any) -> list[Any]:
        """The device functions that TileLang plans."""
        with pass_context(self.pass_configs):
            module = planned(scheduled, self.target)
        return device_functions(module)

    def _in_words(self, found: Found, programs: Sequence[DeviceProgram]) -> list[Race]:
        if not found.conflicts:
            return []
        shapes: dict[str, tuple[int, ...]] = {}
        for buffer in _buffers(self.scheduled):
            if all(isinstance(e, tirx.IntImm) for e in buffer.shape):
                shapes[str(buffer.name)] = tuple(int(e) for e in buffer.shape)
        functions = [program.func for program in programs]
        words = Words(device_lines(functions, self.functions(noted(self.scheduled, self.line_of))), shapes)
        races = [words.race(program, conflict) for program, conflict in found.conflicts]
        return list({(race.first, race.second, race.element.partition("[")[0]): race for race in races}.values())


class _Planned:
    """What decides the device functions of a kernel; equal to another that has all of it alike, lines included."""

    def __init__(self, checked: Checked):
        self.checked = checked
        # Structural equality looks neither at names, by which arguments are found, nor at lines, which races tell.
        sources = tuple(source_of(s) for s, _ in walk(checked.scheduled.body))
        configs = repr(sorted((checked.pass_configs or {}).items()))
        self._key = checked.scheduled.script(), sources, configs, checked.gpu

    def __hash__(self) -> int:
        return hash(self._key[:3])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Planned) or self._key != other._key:
            return False
        return bool(tvm.ir.structural_equal(self.checked.scheduled, other.checked.scheduled))


@functools.lru_cache(maxsize=64)
def _programs(of: _Planned) -> list[DeviceProgram] | str:
    """The programs of a kernel, planned once for all that are alike: a cell that is run again makes a new PrimFunc."""
    checked = of.checked
    try:
        return [compile_device(func, checked.gpu) for func in checked.functions(checked.scheduled)]
    except UnsupportedError as error:
        return str(error)
    except Exception as error:  # TileLang's passes raise whatever they raise: it could not be compiled for a GPU
        return f"TileLang does not compile it: {str(error).strip().partition(chr(10))[0]}"


class _Kept:
    """The checks of one PrimFunc, by architecture and pass configs."""

    def __init__(self) -> None:
        self.by_target: dict[tuple[str, str], Checked] = {}


def checked_once(func: Any, checked: Checked) -> Checked:
    """What has been worked out for the same PrimFunc already, else what is given: lowering a kernel takes time."""
    key = checked.gpu.architecture, repr(sorted((checked.pass_configs or {}).items()))
    return attached(func, _Kept).by_target.setdefault(key, checked)


def device_functions(module: Any) -> list[Any]:
    """The kernels of a planned module, in order of their launches."""
    return [func for func in module.functions.values() if "target" in func.attrs and _launches(func)]


def may_race(scheduled: Any) -> bool:
    """Whether threads may have memory in common that is written: shared memory, or a tensor that is used again."""
    scopes = {str(buffer.scope()) for buffer in _buffers(scheduled)}
    names = {op_name(s) for s, _ in walk(scheduled.body)}
    if any(scope.startswith("shared") for scope in scopes) or any("reduce" in n or "cum" in n for n in names):
        return True
    used = accesses(scheduled.body)
    return any(used.count(data) > 1 for data in stored(scheduled.body))


def _launches(func: Any) -> bool:
    return any(isinstance(s, tirx.AttrStmt) and s.attr_key == "thread_extent" for s, _ in walk(func.body))


def _buffers(func: Any) -> list[Any]:
    found = [*func.buffer_map.values()]
    for s, _ in walk(func.body):
        found += s.alloc_buffers if isinstance(s, tirx.SBlock) else ()
    return found
