"""What threads say to each other, bits, words and vectors, and memory whose extents are known late."""

from __future__ import annotations

import pytest
import tilelang.language as T
from construct_kernels import check
from thread_kernels import CASES

from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.simulator.errors import UnsupportedError


@pytest.mark.some(8)
@pytest.mark.parametrize(("name", "gpu"), [(name, gpu) for name, case in CASES.items() for gpu in case.gpus])
def test_results_equal_torch(name: str, gpu: str) -> None:
    check(CASES[name], gpu)


@T.macro
def _random(A, tx):
    T.rng_init(1, 0, tx, generator="curandStateXORWOW_t")
    A[tx] = T.rng_rand()


@T.macro
def _foreign(A, tx):
    A[tx] = T.call_extern("uint32", "author_s_function", A[tx])


@T.macro
def _stochastic(A, tx):
    A[tx] = T.cast(T.cast(T.cast(A[tx], "float32"), "float8_e4m3fn", round="rs", rbits=A[tx]), "uint32")


@pytest.mark.parametrize(
    ("construct", "named"),
    [
        (_random, "the generator curandStateXORWOW_t"),
        (_foreign, "author_s_function"),
        (_stochastic, "a Cast whose annotations is not rounding to nearest"),
    ],
)
def test_what_is_not_executed_is_named_before_anything_runs(construct, named) -> None:
    @T.prim_func
    def refused(A: T.Tensor((32,), "uint32")):
        with T.Kernel(1, threads=32):
            construct(A, T.get_thread_binding())

    with pytest.raises(UnsupportedError, match=f"kernel refused.*{named}"):
        compile_virtual(refused)
