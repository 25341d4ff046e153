"""Two sides on two streams of one GPU, whose timer is the same: the true offset is 0."""

from __future__ import annotations

from typing import Any

import torch
from kernels import talking

from tltrace_nb import trace
from tltrace_nb.core.runtime import ping_pong
from tltrace_nb.data.offsets import Offset, Rounds, offset_of
from tltrace_nb.distributed.gathered import Gathered, Rank, merge


class StreamPair:
    """The kernels of both sides, compiled and loaded, so that neither is waited for while the other runs."""

    def __init__(self) -> None:
        self.streams: list[Any] = [torch.cuda.Stream() for _ in range(2)]
        self.ask, self.answer = ping_pong.ready("ask"), ping_pong.ready("answer")
        with trace.tracing(device="cuda"):
            self.kernel = talking.halves()
        torch.manual_seed(0)
        self.rows = torch.randn(talking.ITERATIONS, 2 * talking.COLUMNS)
        halves = [half.contiguous().cuda() for half in self.rows.split(talking.COLUMNS, 1)]
        self.boxes = [talking.inbox() for _ in halves]
        self.out = [torch.zeros(talking.ITERATIONS, device="cuda") for _ in halves]
        self.inputs = [
            talking.arguments(half, self.boxes[i], self.boxes[1 - i], self.out[i], 1 - i)
            for i, half in enumerate(halves)
        ]
        for _ in range(2):  # nobody waits where the flags are up already, so that all is loaded and allocated
            for stream, inputs in zip(self.streams, self.inputs, strict=True):
                for box in self.boxes:
                    box[:1] = talking.ITERATIONS
                torch.cuda.synchronize()
                with torch.cuda.stream(stream):
                    self.kernel.launch(inputs)
        torch.cuda.synchronize()

    def rounds(self) -> Rounds:
        """The readings of one ping-pong."""
        words, times = [ping_pong.mailbox() for _ in range(2)], [ping_pong.blank() for _ in range(2)]
        torch.cuda.synchronize()
        with torch.cuda.stream(self.streams[1]):
            ping_pong.play(self.answer, words[1], words[0], times[1], 10)
        with torch.cuda.stream(self.streams[0]):
            ping_pong.play(self.ask, words[0], words[1], times[0], 10)
        torch.cuda.synchronize()
        return ping_pong.rounds_of(*(each.cpu().numpy() for each in times))

    def alone(self) -> Rounds:
        """The readings where only one side plays."""
        words, times = [ping_pong.mailbox() for _ in range(2)], [ping_pong.blank() for _ in range(2)]
        ping_pong.play(self.ask, words[0], words[1], times[0], 0.01)
        torch.cuda.synchronize()
        return ping_pong.rounds_of(*(each.cpu().numpy() for each in times))

    def compare(self) -> Offset:
        """The offset of the answering side's timer."""
        return offset_of(self.rounds())

    def talk(self) -> Gathered:
        """One launch of each side, one of them moved by the offset that was measured."""
        offset = self.compare()
        for box in self.boxes:
            box.zero_()
        torch.cuda.synchronize()
        launches = []
        for stream, inputs in zip(self.streams, self.inputs, strict=True):
            with torch.cuda.stream(stream):
                launches.append(self.kernel.launch(inputs)[1])
        torch.cuda.synchronize()
        traces = {rank: launch.trace() for rank, launch in enumerate(launches)}
        first, second = (int(each.slots[..., 3].min()) for each in traces.values())
        rows = [
            Rank(0, len(traces[0]), 0, 0.0, first),
            Rank(1, len(traces[1]), offset.ns, offset.error_ns, second, clock="GPU"),
        ]
        return merge(traces, rows, talking.ARROWS)

    def right(self) -> bool:
        """Whether both sides have the sums of whole rows."""
        return all(torch.allclose(out.cpu(), self.rows.sum(1), rtol=1e-4, atol=1e-4) for out in self.out)
