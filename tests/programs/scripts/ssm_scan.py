# device: either
# build: selective_scan(2, 64, 128, 16)
# auto selective_scan: launches=1 ctas=4
"""A selective state-space scan: a thread for each channel, the state in registers, time in a loop."""

import argparse

import tilelang
import tilelang.language as T
import torch


@tilelang.jit(out_idx=[-1])
def selective_scan(batch, channels, length, states, threads=32):
    @T.prim_func
    def selective_scan(
        U: T.Tensor((batch, length, channels), "float32"),
        Delta: T.Tensor((batch, length, channels), "float32"),
        A: T.Tensor((channels, states), "float32"),
        B: T.Tensor((batch, length, states), "float32"),
        C: T.Tensor((batch, length, states), "float32"),
        Y: T.Tensor((batch, length, channels), "float32"),
    ):
        with T.Kernel(channels // threads, batch, threads=threads) as (bx, by):
            tx = T.get_thread_binding()
            channel = bx * threads + tx
            h = T.alloc_local((states,), "float32")
            y = T.alloc_var("float32")
            for n in T.unroll(states):
                h[n] = 0.0
            for t in T.serial(length):
                y = 0.0
                for n in T.unroll(states):
                    h[n] = h[n] * T.exp(Delta[by, t, channel] * A[channel, n]) + Delta[by, t, channel] * B[by, t, n] * U[by, t, channel]  # fmt: skip
                    y = y + h[n] * C[by, t, n]
                Y[by, t, channel] = y

    return selective_scan


def reference(u, delta, a, b, c):
    h = torch.zeros(u.shape[0], u.shape[2], a.shape[1], device=u.device)
    rows = []
    for t in range(u.shape[1]):
        h = h * torch.exp(delta[:, t, :, None] * a) + (delta[:, t] * u[:, t])[..., None] * b[:, t, None]
        rows.append((h * c[:, t, None]).sum(-1))
    return torch.stack(rows, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    torch.manual_seed(0)
    u = torch.randn(2, 128, 64)
    delta = torch.rand(2, 128, 64) * 0.1
    a = -torch.rand(64, 16)
    b, c = torch.randn(2, 128, 16), torch.randn(2, 128, 16)
    tensors = [t.to(device) for t in (u, delta, a, b, c)]
    y = selective_scan(2, 64, 128, 16)(*tensors)
    torch.testing.assert_close(y, reference(*tensors), rtol=1e-3, atol=1e-3)
    print("selective scan over 128 steps: ok")
