"""What a compiled kernel takes of an SM, as far as it can be known without a card (the rest is in tests/gpu)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import tilelang
from kernels import BY_NAME

from tltrace_nb.core.compile.numbering import strip
from tltrace_nb.core.compile.resources import dynamic_shared, resources


def built(name: str, **more: Any) -> Any:
    """A stand-in for a compiled kernel: the device functions are TileLang's own, the machine code is given."""
    reference = BY_NAME[name]
    target = tilelang.tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    with target, tilelang.tvm.transform.PassContext(opt_level=3, config=reference.pass_configs or {}):
        artifact = tilelang.lower(strip(reference.build()), target=target, enable_device_compile=False)
    return SimpleNamespace(adapter=SimpleNamespace(device_mod=artifact.device_mod, **more))


def test_dynamic_shared_memory_is_what_tilelang_launches_with() -> None:
    assert dynamic_shared(built("gemm_3")) == {"gemm_kernel": 3 * 2 * 64 * 64 * 2}


def test_the_launches_are_in_their_order() -> None:
    assert dynamic_shared(built("two_launches")) == {"two_launches_kernel": 0, "two_launches_kernel_1": 0}


def test_a_kernel_without_machine_code_has_no_known_resources() -> None:
    kernel = built("gemm_3")
    assert resources(kernel, dynamic_shared(kernel)) is None


def test_a_kernel_whose_functions_are_not_known_has_none() -> None:
    assert dynamic_shared(SimpleNamespace(adapter=SimpleNamespace())) == {}
