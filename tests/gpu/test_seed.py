"""What the first description of the trace API lists as its test coverage, decoded and asserted.

Written as for that library: of it, only the import line would differ.
"""

import pytest
import tilelang
import tilelang.language as T
import torch

from tltrace_nb import trace

pytestmark = pytest.mark.full

N = 16


def test_range_accepts_a_payload_and_compiles_stripped():
    trace.disable()

    @tilelang.jit(out_idx=trace.out_idx(1))
    def build():
        @T.prim_func
        def kernel(out: T.Tensor((N,), "float32")):
            with T.Kernel(1, threads=N), trace.range("test", payload=0):
                out[T.get_thread_binding()] = 1.0

        return trace.finalize(kernel)

    assert torch.equal(build()(), torch.ones(N, device="cuda"))


def test_a_constant_payload_is_decoded():
    trace.enable()

    @tilelang.jit(out_idx=trace.out_idx(1))
    def build():
        @T.prim_func
        def kernel(out: T.Tensor((N,), "float32")):
            with T.Kernel(1, threads=N):
                tx = T.get_thread_binding()
                with trace.range("work", payload=42):
                    out[tx] = 2.0

        return trace.finalize(kernel)

    compiled = build()
    out, slots = compiled()
    assert torch.equal(out, torch.full((N,), 2.0, device="cuda"))
    events = trace.decode(compiled, slots)
    slices = [e for e in events if hasattr(e, "dur_cy") and e.payload == 42]
    assert len(slices) == 1
    assert slices[0].name == "work"
    assert slices[0].track == (0, 0, 0)
    assert slices[0].dur_cy > 0


def test_a_loop_index_is_recorded_in_every_iteration():
    trace.enable()

    @tilelang.jit(out_idx=trace.out_idx(1))
    def build():
        @T.prim_func
        def kernel(out: T.Tensor((4,), "float32")):
            with T.Kernel(1, threads=4):
                tx = T.get_thread_binding()
                for i in range(4):
                    with trace.range("loop_iter", payload=i):
                        if tx == 0:
                            out[i] = T.float32(i)

        return trace.finalize(kernel, max_events=64)

    compiled = build()
    out, slots = compiled()
    assert out.tolist() == [0, 1, 2, 3]
    assert [e.payload for e in trace.decode(compiled, slots)] == [0, 1, 2, 3]


def test_an_explicit_token_carries_its_payload_to_the_end():
    trace.enable()

    @tilelang.jit(out_idx=trace.out_idx(1))
    def build():
        @T.prim_func
        def kernel(out: T.Tensor((N,), "float32")):
            with T.Kernel(1, threads=N):
                tx = T.get_thread_binding()
                tok = trace.range_start("test", payload=7)
                out[tx] = 1.0
                trace.range_end(tok)
                trace.range_end(None)

        return trace.finalize(kernel)

    compiled = build()
    _, slots = compiled()
    events = trace.decode(compiled, slots)
    assert [(e.name, e.payload) for e in events] == [("test", 7)]
    assert events.events["payload_end"].tolist() == [7]


def test_without_a_payload_rows_have_0_and_the_frame_has_nothing():
    trace.enable()

    @tilelang.jit(out_idx=trace.out_idx(1))
    def build():
        @T.prim_func
        def kernel(out: T.Tensor((N,), "float32")):
            with T.Kernel(1, threads=N):
                tx = T.get_thread_binding()
                with trace.range("test"):
                    out[tx] = 1.0
                with trace.range("test2", lane="compute"):
                    out[tx] = out[tx] + 1.0

        return trace.finalize(kernel)

    compiled = build()
    _, slots = compiled()
    events = trace.decode(compiled, slots)
    assert [(e.name, e.payload, e.track[2]) for e in events] == [("test2", 0, 1), ("test", 0, 0)] or [
        (e.name, e.payload, e.track[2]) for e in events
    ] == [("test", 0, 0), ("test2", 0, 1)]
    assert events.events["payload"].isna().all()
    assert events.events["payload_raw"].tolist() == [0, 0]


@pytest.mark.parametrize("traced", [True, False])
def test_implicit_thread_blocks_work_silently(traced, capsys):
    @tilelang.jit(out_idx=trace.out_idx(1, traced))
    def build():
        @T.prim_func
        def kernel(out: T.Tensor((N,), "float32")):
            with T.Kernel(1, threads=N):
                tx = T.get_thread_binding()
                with trace.range("work"):
                    out[tx] = 3.0

        return trace.finalize(kernel, traced)

    returned = build()()
    out = returned[0] if traced else returned
    assert torch.equal(out, torch.full((N,), 3.0, device="cuda"))
    assert "warning" not in (capsys.readouterr().err).lower()


def test_explicit_thread_bindings_work():
    trace.enable()

    @tilelang.jit(out_idx=trace.out_idx(1))
    def build():
        @T.prim_func
        def kernel(out: T.Tensor((N,), "float32")):
            with T.Kernel(1, threads=(1, N)):
                tx = T.get_thread_binding(1)
                with trace.range("work", payload=1):
                    out[tx] = 1.0

        return trace.finalize(kernel)

    compiled = build()
    _, slots = compiled()
    assert [e.payload for e in trace.decode(compiled, slots)] == [1]


def test_the_switch_is_the_process_s_and_restored():
    assert not trace.enabled
    with trace.tracing(output="elsewhere"):
        assert trace.enabled
        assert trace.output == "elsewhere"
    assert not trace.enabled


def test_run_returns_the_outputs_alone_and_never_overwrites(tmp_path, capsys):
    trace.enable(str(tmp_path))

    @tilelang.jit(out_idx=trace.out_idx(1))
    def build():
        @T.prim_func
        def kernel(a: T.Tensor((N,), "float32"), out: T.Tensor((N,), "float32")):
            with T.Kernel(1, threads=N):
                tx = T.get_thread_binding()
                with trace.range("work", payload=-1):
                    out[tx] = a[tx] + 1.0

        return trace.finalize(kernel)

    compiled = build()
    a = torch.arange(N, dtype=torch.float32, device="cuda")
    for _ in range(2):
        assert torch.equal(trace.run(compiled, (a,), stem="work"), a + 1)
    assert {p.name for p in tmp_path.glob("*.html")} == {"work.html", "work_1.html"}
    assert "wrote timeline" in capsys.readouterr().out
    assert [e.payload for e in trace.last] == [-1]
