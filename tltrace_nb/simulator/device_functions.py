"""Device functions of the author's, compiled for the host.

In: the CUDA source that a kernel imports, the name of a function in it, and the types that it is called with. Out: a
:class:`DeviceFunction`, which calls it in every lane of a mask. What a function of one thread may use is in
``device_functions.hpp``; one that asks who it is, talks to others or has assembly in it does not compile, and that is
the reason why it is refused. The author's program is trusted with that as with everything else that it runs.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import tilelang

from tltrace_nb._version import __version__
from tltrace_nb.core.compile import entries
from tltrace_nb.simulator.errors import SimulationError
from tltrace_nb.simulator.memory import Array, Mask, Registers, dtype_of

_TYPES = {
    "float64": "double", "float32": "float", "float16": "half_t", "bfloat16": "bfloat16_t", "int8": "signed char",
    "int16": "short", "int32": "int", "int64": "int64_t", "uint8": "unsigned char", "uint16": "unsigned short",
    "uint32": "unsigned int", "uint64": "uint64_t", "bool": "bool", "handle": "void *",
}  # fmt: skip
"""TIR's types as CUDA C++ has them."""
_COMPILERS = ("c++", "g++", "clang++")
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-w")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*\n?", re.MULTILINE)
_ASSEMBLY = re.compile(r"\b(asm|__asm__)\b")
_KNOWN = re.compile(
    r"[<\"](cuda|cuda_runtime|cuda_fp16|cuda_bf16|tl_templates/cuda/common|cutlass/numeric_types|cstdint|stdint|math|cmath)"
    r"(\.h)?[>\"]"
)
"""Headers of which ``device_functions.hpp`` has what it has."""
_SIGNALS = {8: "divides an integer by zero", 11: "follows a pointer to nowhere", 7: "follows a pointer to nowhere"}
_GUARD, _FILL = 64, 0xA5
"""Bytes around the registers of each lane, and what they hold: a function that writes there is found out."""


class HostError(Exception):
    """There is no such function on the host; the message says why."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a function is called with: a value of a type, or a pointer to elements of it in a thread's registers."""

    dtype: str
    pointer: bool


@dataclass(frozen=True)
class DeviceFunction:
    """A function of the author's. ``result`` is the type that it gives, ``None`` where nobody asks."""

    name: str
    parameters: tuple[Parameter, ...]
    result: np.dtype[Any] | None
    address: Any

    def __call__(self, mask: Mask, *given: Any) -> Any:
        """Call it in the lanes of a mask; a value where all lanes have the same arguments, else one for each lane.

        ``given``: values by lane, or (registers, index) for a pointer. Raises ``SimulationError`` where it fails.
        """
        held = [pair[0] for pair, p in zip(given, self.parameters, strict=True) if p.pointer]
        values = [g for g, p in zip(given, self.parameters, strict=True) if not p.pointer]
        lanes = held[0].lanes if held else np.broadcast_shapes(*(np.shape(v) for v in values))
        count = int(np.prod(lanes))
        chosen = None
        if mask is not True and lanes:
            chosen = np.ascontiguousarray(np.broadcast_to(mask, lanes), np.uint8).reshape(-1)
        kept: dict[int, tuple[Registers, Array]] = {}
        keep: list[Array] = []
        arguments: list[Any] = []
        for each, parameter in zip(given, self.parameters, strict=True):
            if parameter.pointer:
                registers, index = each
                _, scratch = kept.setdefault(id(registers), (registers, _guarded(registers.by_lane())))
                size = registers.a.itemsize
                places = self._places(registers, index, mask)
                at = np.ascontiguousarray(np.broadcast_to(places * size + _GUARD, lanes), np.int64).reshape(-1)
                start = scratch.ctypes.data
                keep.append(at)
                arguments += [ctypes.c_void_p(start), scratch.shape[1], ctypes.c_void_p(at.ctypes.data)]
            else:
                dtype = dtype_of(parameter.dtype)
                wide = np.ascontiguousarray(np.broadcast_to(np.asarray(each).astype(dtype), lanes)).reshape(-1)
                keep.append(wide)
                arguments.append(ctypes.c_void_p(wide.ctypes.data))
        found = np.zeros(count, np.uint8 if self.result is None else self.result)
        where = None if chosen is None else ctypes.c_void_p(chosen.ctypes.data)
        lane = ctypes.c_longlong(0)
        failed = self.address(ctypes.c_longlong(count), where, ctypes.byref(lane), ctypes.c_void_p(found.ctypes.data),
                              *(ctypes.c_longlong(a) if isinstance(a, int) else a for a in arguments))  # fmt: skip
        if failed:
            raise SimulationError(f"the function {self.name} {_SIGNALS.get(failed, 'fails')}, in lane {lane.value}")
        for registers, scratch in kept.values():
            self._take_back(registers, scratch, chosen)
        if self.result is None:
            return None
        return found.reshape(lanes) if lanes else found[0].item() if self.result.kind in "iub" else found[0]

    def _places(self, registers: Registers, index: tuple[Any, ...], mask: Mask) -> Any:
        """Which element a pointer points to; in lanes without a mask it may be any."""
        outside = [(np.asarray(i) < 0) | (np.asarray(i) >= n) for i, n in zip(index, registers.shape, strict=True)]
        if np.any(np.logical_and(mask, np.logical_or.reduce(outside))):
            raise SimulationError(f"the function {self.name} gets a pointer past the end of {registers.name}")
        return np.ravel_multi_index(tuple(np.asarray(i) for i in index), registers.shape, mode="clip")

    def _take_back(self, registers: Registers, scratch: Array, chosen: Array | None) -> None:
        """The registers as the function has left them."""
        if (scratch[:, :_GUARD] != _FILL).any() or (scratch[:, -_GUARD:] != _FILL).any():
            raise SimulationError(f"the function {self.name} writes outside of {registers.name}{list(registers.shape)}")
        own = registers.by_lane()
        changed = np.ascontiguousarray(scratch[:, _GUARD:-_GUARD]).view(own.dtype)
        own[...] = changed if chosen is None else np.where(chosen[:, None], changed, own)


def _guarded(own: Array) -> Array:
    """The registers of all lanes as bytes, with some around those of each."""
    raw = np.ascontiguousarray(own).view(np.uint8).reshape(own.shape[0], -1)
    return np.pad(raw, ((0, 0), (_GUARD, _GUARD)), constant_values=_FILL)


def on_host(source: str, name: str, parameters: Sequence[Parameter], result: str) -> DeviceFunction:
    """A function of the source; ``result``: the type of what it gives, empty where nobody asks.

    Raises ``HostError`` where there is no compiler, or the function does not compile.
    """
    for dtype in [*(p.dtype for p in parameters), *([result] if result else [])]:
        if dtype not in _TYPES:
            raise HostError(f"its type {dtype} is not known on the host")
    compiler = shlex.split(os.environ.get("CXX", "")) or [c for c in map(shutil.which, _COMPILERS) if c][:1]
    if not compiler:
        raise HostError("no C++ compiler is on this machine: install one, or name it in CXX")
    text = _program(source, name, parameters, result)
    key = hashlib.sha256("\0".join((*compiler, *_FLAGS, __version__, text)).encode()).hexdigest()
    library = _library(f"host-{key}", compiler, text)
    call = library.tlt_call
    call.restype = ctypes.c_int
    return DeviceFunction(name, tuple(parameters), dtype_of(result) if result else None, call)


def _library(key: str, compiler: list[str], text: str) -> ctypes.CDLL:
    """The library of a program, from the cache, or compiled and then kept. Raises ``HostError``."""

    def load(path: Path, _: dict[str, str]) -> ctypes.CDLL:
        return ctypes.CDLL(str(path))

    if not tilelang.env.is_cache_enabled():
        return _aside(compiler, text)
    try:
        entry = entries.cache_dir() / key
        found = entries.found(entry, (), load)
        if found is None:
            entries.keep(entry, lambda path: _compile(compiler, text, path), {})
            found = entries.found(entry, (), load)
    except (OSError, RuntimeError):  # whatever it is, a function can be compiled without a place for it
        found = None
    return found or _aside(compiler, text)


def _aside(compiler: list[str], text: str) -> ctypes.CDLL:
    """The library of a program that is not kept."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, entries.LIBRARY)
        _compile(compiler, text, path)
        return ctypes.CDLL(str(path))


def _compile(compiler: list[str], text: str, path: Path) -> None:
    """Compile a program. Raises ``HostError`` with the compiler's first error."""
    try:
        done = subprocess.run(
            [*compiler, *_FLAGS, "-x", "c++", "-o", str(path), "-"], input=text.encode(), capture_output=True,
            check=False,
        )  # fmt: skip
    except OSError as error:
        raise HostError(f"the C++ compiler {compiler[0]} does not run: {error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").splitlines()
        first = next((line for line in said if "rror:" in line), "no message")
        also = "; the source has assembly in it" if _ASSEMBLY.search(text) else ""
        raise HostError(f"it does not compile for the host: {first.partition('rror: ')[2] or first}{also}")


def _program(source: str, name: str, parameters: Sequence[Parameter], result: str) -> str:
    """The text of a library that calls a function for each lane.

    The author's source lies in a namespace of its own, so that what is not called is not compiled further.
    """
    head = files("tltrace_nb.simulator").joinpath("device_functions.hpp").read_text(encoding="utf-8")
    includes = "".join(line for line in _INCLUDE.findall(source) if not _KNOWN.search(line))
    taken, passed = [], []
    for i, p in enumerate(parameters):
        type_ = _TYPES[p.dtype]
        if p.pointer:
            taken += [f"char *p{i}", f"long long step{i}", f"const long long *at{i}"]
            passed.append(f"({type_} *)(p{i} + i * step{i} + at{i}[i])")
        else:
            taken.append(f"const {type_} *p{i}" if p.dtype != "handle" else f"void *const *p{i}")
            passed.append(f"p{i}[i]")
    call = f"{name}({', '.join(passed)})"
    given = f"(({_TYPES[result]} *)result)[i] = ({_TYPES[result]})({call})" if result else call
    own = _INCLUDE.sub("\n", source)
    arguments = ", ".join(
        ["long long n", "const unsigned char *mask", "volatile long long *lane", "void *result", *taken]
    )
    return f"""{head}
{includes}
namespace {{
#line 1 "the imported source"
{own}
#line 1 "the call"
void tlt_each({arguments}) {{
  for (long long i = 0; i < n; ++i) {{
    if (mask && !mask[i]) continue;
    *lane = i;
    {given};
  }}
}}
}}
extern "C" int tlt_call({arguments}) {{
  struct sigaction catching = {{}};
  catching.sa_handler = tlt_caught;
  catching.sa_flags = SA_NODEFER;
  for (int i = 0; i < 3; ++i) sigaction(tlt_signals[i], &catching, &tlt_before[i]);
  int failed = sigsetjmp(tlt_back, 1);
  if (!failed) {{
    tlt_inside = 1;
    tlt_each({", ".join(part.split()[-1].lstrip("*") for part in arguments.split(", "))});
  }}
  tlt_inside = 0;
  for (int i = 0; i < 3; ++i) sigaction(tlt_signals[i], &tlt_before[i], nullptr);
  return failed;
}}
"""
