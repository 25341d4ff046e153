"""Perfetto's own message classes read what we write, and know every field of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from traces import RECORDED

from tltrace_nb import load
from tltrace_nb.export.perfetto import write_perfetto
from tltrace_nb.export.protobuf import integer, message

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed")


def unknown_fields(message: Any) -> list[int]:
    """Field numbers, at any depth, that the schema does not have."""
    from google.protobuf import unknown_fields as unknown

    found = [field.field_number for field in unknown.UnknownFieldSet(message)]
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            for each in value if descriptor.is_repeated else [value]:
                found += unknown_fields(each)
    return found


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_every_field_is_of_the_schema(file: Path, tmp_path: Path) -> None:
    trace = load(file)
    message = pb2.Trace.FromString(write_perfetto(trace, tmp_path / "t.pftrace").read_bytes())
    assert unknown_fields(message) == []
    events = [packet.track_event for packet in message.packet if packet.HasField("track_event")]
    begins = [event for event in events if event.type == pb2.TrackEvent.TYPE_SLICE_BEGIN]
    ranges = int((trace.events["kind"] == "range").sum())
    assert len(begins) == ranges == sum(event.type == pb2.TrackEvent.TYPE_SLICE_END for event in events)
    assert sum(len(event.flow_ids) for event in events) == len(trace.flows)


def test_a_field_that_the_schema_lacks_is_noticed() -> None:
    inside = message(1, integer(8, 5) + integer(1000, 1))  # a packet with a time, and something else
    assert unknown_fields(pb2.Trace.FromString(inside)) == [1000]
