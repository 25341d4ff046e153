"""What a CTA of a compiled kernel takes of an SM: registers per thread and bytes of shared memory.

In: a compiled kernel. Out: a pair per launch, for ``TraceMeta.resources``. The CUDA driver says how many registers and
how much static shared memory its functions have (``cuFuncGetAttribute``); TileLang says how much dynamic shared memory
it launches them with.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilelang.jit.kernel import JITKernel

_DYNAMIC = "dyn_shared_memory_buf"
"""Attribute of a device function: bytes of dynamic shared memory."""
_SHARED_SIZE_BYTES, _NUM_REGS = 1, 4
"""``CU_FUNC_ATTRIBUTE_*`` of ``cuda.h``."""


def dynamic_shared(kernel: JITKernel) -> dict[str, int]:
    """Bytes of dynamic shared memory by device function, in the order of the launches; none where it is not known."""
    module = getattr(kernel.adapter, "device_mod", None)
    if module is None:
        return {}
    found = {str(func.attrs["global_symbol"]): func.attrs for func in module.functions.values()}
    ordered = sorted(found, key=lambda name: (len(name), name))  # main_kernel, main_kernel_1, ...
    return {name: int(found[name].get(_DYNAMIC, 0)) for name in ordered}


def resources(kernel: JITKernel, dynamic: dict[str, int]) -> tuple[tuple[int, int], ...] | None:
    """Registers per thread and bytes of shared memory per CTA of each function, ``None`` where they cannot be known.

    Needs a current CUDA context. ``dynamic`` as ``dynamic_shared``.
    """
    code = _machine_code(kernel)
    if not dynamic or code is None:
        return None
    try:
        static = _attributes(code, list(dynamic))
    except OSError:  # no driver, or one that does not take the code: the trace is as good without
        return None
    return tuple((registers, shared + dynamic[name]) for name, (registers, shared) in static.items())


def _machine_code(kernel: JITKernel) -> bytes | None:
    """The kernel's cubin."""
    adapter: Any = kernel.adapter
    module = getattr(adapter, "rt_mod", None) or getattr(adapter, "executable", None)
    module = getattr(module, "mod", module)
    imported = next((each for each in getattr(module, "imports", ()) if each.kind == "cuda"), None)
    if imported is None:
        return None
    try:
        code = imported.inspect_source("cubin")
    except UnicodeDecodeError as error:  # TVM returns the code as text, which it is not
        return bytes(error.object)
    return code if isinstance(code, bytes) and code else None


def _attributes(code: bytes, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Registers and static shared memory of functions in machine code. Raises ``OSError`` where CUDA fails."""
    driver = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *arguments: Any) -> None:
        status = getattr(driver, name)(*arguments)
        if status != 0:
            raise OSError(f"{name} returned {status}")

    module = ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), code)
    try:
        found = {}
        for name in names:
            function, values = ctypes.c_void_p(), []
            call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            for attribute in (_NUM_REGS, _SHARED_SIZE_BYTES):
                value = ctypes.c_int()
                call("cuFuncGetAttribute", ctypes.byref(value), attribute, function)
                values.append(value.value)
            found[name] = (values[0], values[1])
        return found
    finally:
        driver.cuModuleUnload(module)
