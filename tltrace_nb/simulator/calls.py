"""Calls of the author's own functions as lines of Python.

In: a call ``T.call_extern``, and the CUDA source that the kernel imports. Out: the text that calls the function as it
is compiled for the host (``device_functions``).
"""

from __future__ import annotations

import functools
from typing import Any

from tvm import tirx

from tltrace_nb.simulator.costs import Unit
from tltrace_nb.simulator.device_functions import DeviceFunction, HostError, Parameter, on_host
from tltrace_nb.simulator.uniformity import LOCAL_SCOPES, POINTERS
from tltrace_nb.simulator.writing import Place, Writer

_INSTRUCTIONS = 16
"""Instructions of a function whose code nobody has looked at (estimate)."""


class DeviceCalls:
    """The calls of a program's writer."""

    def __init__(self, writer: Writer, source: str | None):
        """``source``: what the kernel imports, ``None`` where its functions are not to be called."""
        self._w, self._source = writer, source
        self._compiled = functools.cache(self._on_host)

    def value(self, call: Any, place: Place) -> str:
        """The text of what a function gives."""
        return self._w.assign(self._call(call, place, str(call.dtype)))

    def statement(self, call: Any, place: Place) -> None:
        """A call for what it does to the registers that it gets pointers to."""
        buffers = [arg.args[0].buffer for arg in call.args[1:] if _is_pointer(arg)]
        text = self._call(call, place, "")
        if not buffers or any(self._w.needed(buffer) for buffer in buffers):
            self._w.line(text)
        self._w.statements.spend(place)

    def _call(self, call: Any, place: Place, result: str) -> str:
        w = self._w
        parameters, given = [], []
        for arg in call.args[1:]:
            if _is_pointer(arg):
                buffer, indices = arg.args[0].buffer, arg.args[0].indices
                if str(buffer.scope()) not in LOCAL_SCOPES:
                    scope = buffer.scope()
                    raise w.unsupported(f"the function {call.args[0].value} with a pointer to {scope} memory", call)
                parameters.append(Parameter(str(buffer.dtype), True))
                given.append(f"({w.buffer(buffer, call)}, ({w.expressions.index(indices, place)}))")
            else:
                parameters.append(Parameter(str(arg.dtype), False))
                given.append(w.expressions(arg, place))
        try:
            function = self._compiled(str(call.args[0].value), tuple(parameters), result)
        except HostError as error:
            raise w.unsupported(f"the function {call.args[0].value} ({error})", call) from None
        w.tally.add(Unit.CUDA, _INSTRUCTIONS)
        return f"{w.named(function)}({', '.join((place.mask, *given))})"

    def _on_host(self, name: str, parameters: tuple[Parameter, ...], result: str) -> DeviceFunction:
        if self._source is None:
            raise HostError("the author's own, or the compiler's")
        try:
            return on_host(self._source, name, parameters, result)
        except HostError as error:
            nowhere = "" if self._source else "; the kernel imports no source that has it, T.import_source"
            raise HostError(f"{error}{nowhere}") from None


def _is_pointer(arg: Any) -> bool:
    name = str(getattr(getattr(arg, "op", None), "name", ""))
    return name in POINTERS and isinstance(arg.args[0], tirx.BufferLoad)
