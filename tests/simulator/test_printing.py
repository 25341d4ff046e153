"""``T.print`` prints what it prints on a card."""

from __future__ import annotations

import pytest
import tilelang.language as T
import torch

from tltrace_nb.core.runtime.virtual import simulate


def test_a_value_is_printed_by_every_thread_that_comes_there(capsys: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def prints(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=64) as bx:
            tx = T.get_thread_binding()
            if tx >= 62:
                T.print(A[tx] + bx, msg="sum")
            if tx == 0:
                T.print(B[tx])
                T.print(msg="done")

    simulate(prints, [torch.arange(64, dtype=torch.int32), torch.full((64,), 0.5)], out_idx=[])
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(
        line
        for bx in (0, 1)
        for line in (
            f"msg='sum' BlockIdx=({bx}, 0, 0), ThreadIdx=(62, 0, 0): dtype=int value={62 + bx}",
            f"msg='sum' BlockIdx=({bx}, 0, 0), ThreadIdx=(63, 0, 0): dtype=int value={63 + bx}",
            f"msg='expr<B[tx]>' BlockIdx=({bx}, 0, 0), ThreadIdx=(0, 0, 0): dtype=float value=0.500000",
            f"msg='done' BlockIdx=({bx}, 0, 0), ThreadIdx=(0, 0, 0)",
        )
    )


def test_a_buffer_is_printed_element_by_element(capsys: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def prints(A: T.Tensor((4,), "float16")):
        with T.Kernel(1, threads=32):
            held = T.alloc_fragment((4,), "float16")
            T.copy(A, held)
            T.print(held, msg="held")

    simulate(prints, [torch.tensor([1.0, -2.0, 0.25, 8.0]).half()], out_idx=[])
    assert capsys.readouterr().out.splitlines() == [
        f"msg='held' BlockIdx=(0, 0, 0), ThreadIdx=(0, 0, 0): buffer=held, index={i}, dtype=half_t value={v}"
        for i, v in enumerate(("1.000000", "-2.000000", "0.250000", "8.000000"))
    ]


def test_where_contents_are_not_computed_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def prints(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            T.print(A[tx])

    simulate(prints, [torch.ones(64)], out_idx=[], functional=False)
    assert capsys.readouterr().out == ""


def test_the_events_of_other_tools_do_nothing() -> None:
    @T.prim_func
    def marked(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            T.call_extern("handle", "TL_IKET_EVENT", 3)
            A[tx] = A[tx] + 1.0
            T.call_extern("handle", "TL_IKET_EVENT_PAYLOAD_U32", 3, tx)

    a = torch.ones(64)
    simulate(marked, [a], out_idx=[])
    assert (a == 2).all()
