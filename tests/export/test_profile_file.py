"""A profile with traces inside, read back with Perfetto's own message classes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kineto_form import HOST, Program, launched

import tltrace_nb
from tltrace_nb.core.trace import Trace
from tltrace_nb.data.kineto import ProfileError

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed")


@dataclass(eq=False)
class Bar:
    """A slice or an instant; ``track`` is the names of its tracks from the top down."""

    track: tuple[str, ...]
    name: str
    start: int
    end: int
    args: dict[str, Any]
    inside: Bar | None = None
    leaving: list[int] = field(default_factory=list)
    arriving: list[int] = field(default_factory=list)


class Read:
    """What a viewer shows of a file: an end closes what was begun last on its track."""

    def __init__(self, path: Path) -> None:
        packets = pb2.Trace.FromString(path.read_bytes()).packet
        tracks: dict[int, tuple[str, ...]] = {}
        names: dict[int, dict[int, str]] = {}
        for packet in packets:
            if packet.HasField("interned_data"):
                names[packet.trusted_packet_sequence_id] = {e.iid: e.name for e in packet.interned_data.event_names}
            if packet.HasField("track_descriptor"):
                of = packet.track_descriptor
                above = tracks[of.parent_uuid] if of.parent_uuid else ()
                assert of.uuid not in tracks
                tracks[of.uuid] = (*above, of.process.process_name if of.HasField("process") else of.name)
        self.bars: list[Bar] = []
        open_: dict[int, list[Bar]] = defaultdict(list)
        events = [packet for packet in packets if packet.HasField("track_event")]
        for packet in sorted(events, key=lambda packet: packet.timestamp):
            event = packet.track_event
            stack = open_[event.track_uuid]
            if event.type == pb2.TrackEvent.TYPE_SLICE_END:
                stack.pop().end = packet.timestamp
                continue
            name = event.name or names[packet.trusted_packet_sequence_id][event.name_iid]
            args = {each.name: getattr(each, each.WhichOneof("value")) for each in event.debug_annotations if each.name}
            bar = Bar(
                tracks[event.track_uuid], name, packet.timestamp, packet.timestamp, args, stack[-1] if stack else None
            )
            bar.leaving, bar.arriving = list(event.flow_ids), list(event.terminating_flow_ids)
            self.bars.append(bar)
            if event.type == pb2.TrackEvent.TYPE_SLICE_BEGIN:
                stack.append(bar)
        assert not any(open_.values())

    def named(self, name: str) -> list[Bar]:
        return [bar for bar in self.bars if bar.name == name]

    def one(self, name: str) -> Bar:
        (bar,) = self.named(name)
        return bar

    def inside(self, stream: str) -> list[Bar]:
        """What is drawn inside of the kernels of a stream."""
        return [bar for bar in self.bars if len(bar.track) > 3 and bar.track[1] == stream and bar.track[3] != ABOUT]

    def arrows(self) -> list[tuple[Bar, Bar]]:
        """Each flow from where it leaves to where it arrives: once each."""
        left = {flow: bar for bar in self.bars for flow in bar.leaving}
        arrived = {flow: bar for bar in self.bars for flow in bar.arriving}
        assert left.keys() == arrived.keys()
        assert len(left) == sum(len(bar.leaving) for bar in self.bars) == sum(len(bar.arriving) for bar in self.bars)
        return [(bar, arrived[flow]) for flow, bar in left.items()]


ABOUT = "about this trace"
THREAD = ("python · CPU", f"thread {HOST} (python)")


@pytest.fixture(scope="module")
def traces() -> tuple[Trace, Trace]:
    return launched("softmax", 500_000), launched("gemm", 520_000)


@pytest.fixture(scope="module")
def read(traces: tuple[Trace, Trace], tmp_path_factory: pytest.TempPathFactory) -> Read:
    """A program with two traced kernels on two streams, and others around them."""
    folder = tmp_path_factory.mktemp("profile")
    softmax, gemm = traces
    program = Program()
    program.span("user_annotation", "step 1", 0, 900_000)
    program.span("cpu_op", "aten::softmax", 470_000, 40_000, **{"Input Dims": [[4, 4]]})
    program.kernel("elementwise_kernel", 300_000, 4_000, grid=(1, 1, 1), block=(128, 1, 1))
    program.span("gpu_user_annotation", "step 1", 300_000, 260_000, process=0, thread=7)
    program.around(softmax, 500_000, stream=7)
    program.around(gemm, 520_000, stream=9)
    file = program.write(folder / "profile.json")
    return Read(tltrace_nb.profile(file, traces).to_perfetto(folder / "all.pftrace"))


def test_operators_calls_and_annotations_are_on_the_track_of_their_thread(read: Read) -> None:
    on_thread = {bar.name for bar in read.bars if bar.track == THREAD}
    assert on_thread == {"step 1", "aten::softmax", "cuLaunchKernel"}
    operator = read.one("aten::softmax")
    assert operator.inside is not None
    assert operator.inside.name == "step 1"
    assert operator.args == {"category": "cpu_op", "Input Dims": "[[4, 4]]"}


def test_kernels_are_on_the_track_of_their_stream_inside_of_its_annotations(read: Read) -> None:
    assert read.one("gemm_kernel").track == ("python · GPU 0", "stream 9")
    kernel = read.one("softmax_kernel")
    assert kernel.track == ("python · GPU 0", "stream 7")
    assert kernel.inside is not None
    assert (kernel.inside.name, kernel.inside.args["category"]) == ("step 1", "gpu_user_annotation")


def test_every_cta_lies_inside_of_its_kernel_s_bar(read: Read, traces: tuple[Trace, Trace]) -> None:
    for trace, name, stream in zip(traces, ("softmax_kernel", "gemm_kernel"), ("stream 7", "stream 9"), strict=True):
        kernel = read.one(name)
        ctas = [bar for bar in read.inside(stream) if bar.name.startswith("CTA")]
        assert len(ctas) == len(trace.ctas)
        assert all(kernel.start <= bar.start < bar.end <= kernel.end for bar in ctas)
        assert {bar.track[2] for bar in ctas} == {f"inside {name} · {kernel.args['correlation']}"}


def test_every_range_lies_inside_of_its_cta(read: Read, traces: tuple[Trace, Trace]) -> None:
    ctas = {
        bar.track: bar
        for stream in ("stream 7", "stream 9")
        for bar in read.inside(stream)
        if bar.name.startswith("CTA")
    }
    ranges = [
        bar for stream in ("stream 7", "stream 9") for bar in read.inside(stream) if not bar.name.startswith("CTA")
    ]
    assert len(ranges) == sum(len(trace.events) for trace in traces)
    for bar in ranges:
        cta = ctas[bar.track[:5]]
        assert bar.track[3] == f"SM {cta.args['sm']}"
        assert cta.start <= bar.start <= bar.end <= cta.end


def test_a_flow_leads_from_the_call_to_each_kernel_and_from_traced_ones_to_their_first_cta(read: Read) -> None:
    arrows = [
        (left, arrived) for left, arrived in read.arrows() if left.track == THREAD or arrived.name.startswith("CTA")
    ]
    launches = [
        (left.args["correlation"], arrived.args["correlation"]) for left, arrived in arrows if left.track == THREAD
    ]
    assert sorted(launches) == [(101, 101), (102, 102), (103, 103)]
    for name, stream in (("softmax_kernel", "stream 7"), ("gemm_kernel", "stream 9")):
        (first,) = [arrived for left, arrived in arrows if left.name == name]
        assert first.start == min(bar.start for bar in read.inside(stream) if bar.name.startswith("CTA"))


def test_arrows_of_the_kernel_are_there_too(read: Read, traces: tuple[Trace, Trace]) -> None:
    of_dag = [left for left, arrived in read.arrows() if len(left.track) > 3 and len(arrived.track) > 3]
    assert len(of_dag) == sum(len(trace.flows) for trace in traces)


def test_the_first_cta_is_where_it_was_but_for_the_error_that_the_bar_states(read: Read) -> None:
    for name, stream, entered in (("softmax_kernel", "stream 7", 500_000), ("gemm_kernel", "stream 9", 520_000)):
        first = min(bar.start for bar in read.inside(stream) if bar.name.startswith("CTA"))
        error = read.one(name).args["traced_error_ns"]
        assert abs(first - entered) <= error <= 1000


def test_what_is_known_of_the_file_stands_on_its_first_track(read: Read) -> None:
    about = [bar for bar in read.bars if bar.track[0] == "about this profile"]
    assert [bar.name.partition(" with")[0] for bar in about] == [
        "profile",
        "traced: softmax_kernel",
        "traced: gemm_kernel",
    ]
    assert "NVIDIA H200" in about[0].args["deviceProperties"]
    assert about[1].args["traced_error_ns"] == read.one("softmax_kernel").args["traced_error_ns"]


def test_a_trace_that_is_not_in_the_profile_is_a_note_in_the_file(traces: tuple[Trace, Trace], tmp_path: Path) -> None:
    program = Program()
    program.around(traces[0], 500_000)
    profile = tltrace_nb.profile(program.write(tmp_path / "p.json"), traces)
    read = Read(profile.to_perfetto(tmp_path / "p.pftrace"))
    assert [bar.name for bar in read.bars if bar.name.startswith("not in the profile")] == list(profile.notes)
    assert not [bar for bar in read.bars if "mma" in bar.name]


def test_one_trace_writes_itself_within_a_profile(traces: tuple[Trace, Trace], tmp_path: Path) -> None:
    program = Program()
    program.around(traces[0], 500_000)
    file = program.write(tmp_path / "p.json")
    read = Read(traces[0].to_perfetto(tmp_path / "p.pftrace", within=file))
    assert len([bar for bar in read.inside("stream 7") if bar.name.startswith("CTA")]) == len(traces[0].ctas)
    with pytest.raises(ProfileError, match="gemm_kernel with grid .* is not in the profile: the profile has no kernel"):
        traces[1].to_perfetto(tmp_path / "q.pftrace", within=file)
    assert not (tmp_path / "q.pftrace").exists()


def test_spans_that_cross_on_a_thread_are_on_further_rows(tmp_path: Path) -> None:
    program = Program()
    program.span("cpu_op", "a", 0, 100)
    program.span("cpu_op", "b", 50, 100)
    program.span("cpu_op", "c", 100, 20)
    read = Read(tltrace_nb.profile(program.write(tmp_path / "p.json"), []).to_perfetto(tmp_path / "p.pftrace"))
    shown = [(bar.name, bar.track[-1], bar.start, bar.end) for bar in read.bars if bar.track[0] == "python · CPU"]
    thread = f"thread {HOST} (python)"
    assert shown == [("a", thread, 0, 100), ("b", f"{thread} · row 2", 50, 150), ("c", thread, 100, 120)]
