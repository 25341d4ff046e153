"""Kernels that call functions of their author's, as ``tests/simulator/test_device_functions.py`` runs them."""

from typing import Any

import tilelang.language as T

N = 256

SOURCE = """
#include <cuda_fp16.h>

__device__ __forceinline__ float softcap(float x, float c) { return c * tanhf(x / c); }
template <int COUNT>
__device__ void widen(const signed char* in, float* out, float s) {
#pragma unroll
  for (int i = 0; i < COUNT; ++i) out[i] = float(in[i]) * s;
}
__device__ int divided(int a, int b) { return a / b; }
__device__ half scaled(half x, half y) { return x * y + __float2half(1.0f); }
__device__ int packed(float x, unsigned u) {
  return __float2int_rn(x) + __popc(u) + __clz(u) + int(__byte_perm(u, 0x01020304u, 0x7162));
}
__device__ void past(float* x) { x[4] = 1.0f; }
__device__ void nowhere(float* x) { *(volatile float*)(x - x) = 1.0f; }
__device__ float clamp01(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
namespace mine { __device__ double wide(double x) { return sqrt(x) + 1.0; } }
__device__ float by_thread(float x) { return x + threadIdx.x; }
__device__ float by_warp(float x) { return x + __shfl_xor_sync(0xffffffffu, x, 1); }
__device__ float by_assembly(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
"""
"""What is above the functions of several threads compiles for the host, ``PART``."""
PART = SOURCE[: SOURCE.index("__device__ float by_thread")]
ASSEMBLY = PART + SOURCE[SOURCE.index("__device__ float by_assembly") :]


def elementwise(call: Any, dtype: str = "float32", result: str | None = None, source: str | None = PART) -> Any:
    @T.prim_func
    def elementwise(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), result or dtype)):
        with T.Kernel(N // 128, threads=128) as b:
            T.import_source(source)
            for i in T.Parallel(128):
                Y[b * 128 + i] = call(X[b * 128 + i])

    return elementwise


def by_thread(call: Any, condition: Any, dtype: str = "int32") -> Any:
    @T.prim_func
    def by_thread(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(1, threads=N):
            T.import_source(PART)
            tx = T.get_thread_binding()
            Y[tx] = 0
            if condition(X[tx]):
                Y[tx] = call(X[tx])

    return by_thread


def chosen() -> Any:
    @T.prim_func
    def chosen(X: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1, threads=N):
            T.import_source(PART)
            tx = T.get_thread_binding()
            Y[tx] = T.if_then_else(X[tx] != 0, T.call_extern("int32", "divided", 1000, X[tx]), -1)

    return chosen


def widened() -> Any:
    @T.prim_func
    def widened(X: T.Tensor((4 * N,), "int8"), Y: T.Tensor((4 * N,), "float32")):
        with T.Kernel(4, threads=N // 4) as b:
            T.import_source(PART)
            tx = T.get_thread_binding()
            a = T.alloc_local((4,), "int8")
            f = T.alloc_local((8,), "float32")
            for v in T.vectorized(4):
                a[v] = X[b * N + tx * 4 + v]
            if tx % 2 == 0:
                T.call_extern("handle", "widen<4>", T.address_of(a[0]), T.address_of(f[tx % 4]), 0.5)
            for v in T.serial(4):
                Y[b * N + tx * 4 + v] = f[v + tx % 4]

    return widened


def handed_over(form: str) -> Any:
    """Registers given to a function in each of the ways that there are."""

    @T.prim_func
    def handed_over(X: T.Tensor((4 * N,), "int8"), Y: T.Tensor((4 * N,), "float32")):
        with T.Kernel(1, threads=N):
            T.import_source(PART)
            tx = T.get_thread_binding()
            a = T.alloc_local((2, 2), "int8")
            f = T.alloc_local((4,), "float32")
            for v in T.serial(4):
                a[v // 2, v % 2] = X[tx * 4 + v]
            if form == "T.access_ptr":
                T.call_extern("handle", "widen<4>", T.access_ptr(a, "r"), T.access_ptr(f, "w"), 0.5)
            elif form == "data":
                T.call_extern("handle", "widen<4>", a.data, f.data, 0.5)
            elif form == "T.address_of":
                T.call_extern("handle", "widen<4>", T.address_of(a), T.address_of(f), 0.5)
            else:
                T.call_extern("handle", "widen<4>", a.access_ptr("r"), f.access_ptr("w"), 0.5)
            for v in T.serial(4):
                Y[tx * 4 + v] = f[v]

    return handed_over


def pointed(name: str) -> Any:
    @T.prim_func
    def pointed(Y: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            T.import_source(PART)
            tx = T.get_thread_binding()
            f = T.alloc_local((4,), "float32")
            f[0] = 0.0
            T.call_extern("handle", name, T.address_of(f[0]))
            Y[tx] = f[0]

    return pointed


def shared() -> Any:
    @T.prim_func
    def shared(Y: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=N):
            T.import_source(PART)
            tx = T.get_thread_binding()
            s = T.alloc_shared((N,), "float32")
            T.call_extern("handle", "past", T.address_of(s[tx]))
            Y[tx] = s[tx]

    return shared


def uniform() -> Any:
    @T.prim_func
    def uniform(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")):
        with T.Kernel(4, threads=32) as b:
            T.import_source(PART)
            for _ in T.serial(T.call_extern("int32", "divided", 6, b + 1)):
                Y[b] = Y[b] + T.call_extern("float32", "clamp01", X[b])

    return uniform
