"""The kernels that first described the trace API: payloads in a loop, tokens, implicit and explicit threads."""

import tilelang.language as T

from kernels.reference import Reference
from tltrace_nb import trace

N = 16


def _inputs(device):
    import torch

    return (torch.arange(N, dtype=torch.float32, device=device),)


def payload_loop():
    @T.prim_func
    def payload_loop(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            B[tx] = A[tx]
            for i in range(4):
                with trace.range("iteration", payload=i):
                    B[tx] = B[tx] + 1.0

    return payload_loop


def constant_payload():
    @T.prim_func
    def constant_payload(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            with trace.range("work", payload=42):
                B[tx] = A[tx] * 2.0

    return constant_payload


def start_and_end():
    @T.prim_func
    def start_and_end(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            tok = trace.range_start("manual", payload=7)
            B[tx] = A[tx] * 2.0
            trace.range_end(tok)
            trace.range_end(None)

    return start_and_end


def without_payload():
    @T.prim_func
    def without_payload(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.get_thread_binding()
            with trace.range("compute"):
                B[tx] = A[tx] * 2.0
            trace.record("done")

    return without_payload


def explicit_threads():
    @T.prim_func
    def explicit_threads(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            tx = T.thread_binding(0, N, thread="threadIdx.x")
            with trace.range("work", payload=tx):
                B[tx] = A[tx] * 2.0

    return explicit_threads


def two_dimensional_threads():
    @T.prim_func
    def two_dimensional_threads(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=(N, 1)):
            tx = T.thread_binding(0, N, thread="threadIdx.x")
            ty = T.thread_binding(0, 1, thread="threadIdx.y")
            with trace.range("work", payload=ty):
                B[tx] = A[tx] * 2.0

    return two_dimensional_threads


def _double(a):
    return a * 2


REFERENCES = (
    Reference("payload_loop", payload_loop, _inputs, lambda a: a + 4),
    Reference("constant_payload", constant_payload, _inputs, _double),
    Reference("start_and_end", start_and_end, _inputs, _double),
    Reference("without_payload", without_payload, _inputs, _double),
    Reference("explicit_threads", explicit_threads, _inputs, _double),
    Reference("two_dimensional_threads", two_dimensional_threads, _inputs, _double),
)
