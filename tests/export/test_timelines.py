"""Perfetto's and Chrome's format: what a viewer shows is what the frames say."""

from __future__ import annotations

import gzip
import math
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from decoders import Read, Shown, read_chrome, read_perfetto
from hypothesis import given, settings
from synthetic import Rec, build, instant, span, table
from tiers import examples
from traces import HOSTILE, INT32_LEAST, INT32_MOST, RECORDED, UINT32_MOST, bits, made, random_traces

from tltrace_nb import load
from tltrace_nb.core.trace import Trace, TraceMeta
from tltrace_nb.data.notes import Note
from tltrace_nb.data.sites import PayloadType, Writer
from tltrace_nb.export.chrome import write_chrome
from tltrace_nb.export.perfetto import write_perfetto
from tltrace_nb.export.steps import DEEP

FORMATS: dict[str, tuple[Callable[..., Path], Callable[[bytes], Read]]] = {
    "perfetto": (write_perfetto, read_perfetto),
    "chrome": (write_chrome, read_chrome),
}
in_both = pytest.mark.parametrize("format_", FORMATS)


def exported(trace: Trace, format_: str) -> Read:
    write, read = FORMATS[format_]
    with tempfile.TemporaryDirectory() as folder:
        return read(write(trace, Path(folder) / "file").read_bytes())


def same_number(a: Any, b: Any) -> bool:
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def plain(value: Any) -> Any:
    """A payload as the column has it, comparable: a missing one is ``None``, one that is not a number ``"NaN"``."""
    if value is None or (not isinstance(value, (int, float)) and str(value) == "<NA>"):
        return None
    return "NaN" if math.isnan(value) else float(value)


def utf8(text: str) -> str:
    """What is left of a text when it has to be UTF-8."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def told(shown: Shown) -> tuple[Any, ...]:
    """What a viewer is told of an event."""
    args = shown.args
    begin = plain(args.get("payload"))
    end = None if shown.instant else plain(args.get("payload_end", args.get("payload")))
    cycles = (args["start_cycles"], args.get("duration_cycles", 0))
    return shown.name, shown.instant, shown.source, *cycles, begin, end, args.get("truncated", False)


def of_frame(trace: Trace) -> list[tuple[Any, ...]]:
    """The same of every row of the frame. An end's payload that is missing where the begin has one is not told."""
    rows = trace.events.itertuples()
    facts = []
    for row in rows:
        begin, end = plain(row.payload), plain(row.payload_end)
        is_instant = row.kind == "instant"
        end = None if is_instant else begin if end is None else end
        cut = bool(row.truncated)
        facts.append((utf8(row.name), is_instant, utf8(row.source), row.start, row.duration, begin, end, cut))
    return facts


def check(trace: Trace, format_: str) -> None:
    read = exported(trace, format_)
    facts = of_frame(trace)
    assert Counter(map(told, read.shown)) == Counter(facts)
    known = not trace.events["start_ns"].isna().any()
    for shown in read.shown:
        cycles = shown.args.get("duration_cycles", 0)
        assert shown.end is not None
        if not known:
            assert shown.end - shown.start == cycles
    if known:
        starts = Counter(shown.start for shown in read.shown)
        assert starts == Counter(np.rint(trace.events["start_ns"]).astype("int64").tolist())
        durations = sorted(shown.end - shown.start for shown in read.shown)  # type: ignore[operator]
        far = trace.events["start_ns"].abs().max() > 2**50  # where a float64 has no tenths of a ns any more
        assert np.abs(np.array(durations) - np.sort(trace.events["duration_ns"])).max(initial=0) <= (3 if far else 1.01)
    flows = [(facts[src], facts[dst]) for src, dst in zip(trace.flows["src"], trace.flows["dst"], strict=True)]
    # An arrow may only be missing where its destination ends before its source begins, or in the same ns.
    gap = trace.events["end"].to_numpy()[trace.flows["dst"]] - trace.events["start"].to_numpy()[trace.flows["src"]]
    backward = int((gap <= (8 if known else 0)).sum())
    drawn = Counter((told(src), told(dst)) for src, dst in read.arrows)
    assert drawn <= Counter(flows)
    assert drawn.total() + read.lost_arrows == len(flows)
    assert read.lost_arrows <= backward


@in_both
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_recorded_trace_is_shown_whole(file: Path, format_: str) -> None:
    check(load(file), format_)


@in_both
@given(random_traces())
@settings(max_examples=examples(40), deadline=None)
def test_any_trace_is_shown_whole(format_: str, trace: Trace) -> None:
    check(trace, format_)


@in_both
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_name_may_be_anything(name: str, format_: str) -> None:
    of = table(
        *span(0, name, lane=name or "main", group=name or "default"), writers=(Writer(0, name or "default", None, 0),)
    )
    trace = made(of, (1100, 0, 3), (1200, 1, 3))
    (shown,) = exported(trace, format_).shown
    assert shown.name == utf8(name)
    assert max(map(len, shown.track)) < 700  # a label is for reading
    check(trace, format_)


PAYLOADS = [
    (PayloadType.INT32, INT32_LEAST, -(2**31)),
    (PayloadType.INT32, INT32_MOST, 2**31 - 1),
    (PayloadType.UINT32, UINT32_MOST, 2**32 - 1),
    (PayloadType.FLOAT32, bits(float("nan")), math.nan),
    (PayloadType.FLOAT32, bits(float("inf")), math.inf),
    (PayloadType.FLOAT32, bits(-float("inf")), -math.inf),
    (PayloadType.FLOAT32, bits(3.0), 3.0),
    (PayloadType.BOOL, 1, True),
]


@in_both
@pytest.mark.parametrize(("type_", "raw", "value"), PAYLOADS, ids=str)
def test_a_payload_keeps_its_type_beside_floats(type_: PayloadType, raw: int, value: Any, format_: str) -> None:
    of = table(*span(0, "a", payload=type_), instant(2, "b", payload=PayloadType.FLOAT32))
    read = exported(made(of, (1100, 0, raw), (1200, 1, raw), (1300, 2, bits(0.5))), format_)
    payload = read.shown[0].args["payload"]
    assert type(payload) is type(value)
    assert same_number(payload, value)
    assert "payload_end" not in read.shown[0].args


@in_both
def test_a_payload_that_changes_has_both_values(format_: str) -> None:
    of = table(*span(0, "a"))
    (shown,) = exported(made(of, (1100, 0, 0), (1200, 1, 6)), format_).shown
    assert (shown.args["payload"], shown.args["payload_end"]) == (0, 6)


@in_both
def test_a_missing_payload_is_not_written(format_: str) -> None:
    of = table(*span(0, "a", payload=PayloadType.NONE))
    (shown,) = exported(made(of, (1100, 0, 0), (1200, 1, 0)), format_).shown
    assert set(shown.args) == {"start_cycles", "duration_cycles"}


@in_both
def test_ranges_that_cross_are_on_rows_of_their_own(format_: str) -> None:
    of = table(*span(0, "a"), *span(2, "b"))
    read = exported(made(of, (1100, 0, 0), (1200, 2, 0), (1300, 1, 0), (1400, 3, 0)), format_)
    a, b = sorted(read.shown, key=lambda shown: shown.name)
    assert (a.end, b.end) == (150, 200)
    assert a.track != b.track
    assert b.track[-1].endswith("row 2")


@in_both
def test_ranges_that_nest_share_a_row(format_: str) -> None:
    of = table(*span(0, "a"), *span(2, "b"), instant(4, "c"))
    records = [(1100, 0, 0), (1100, 2, 0), (1150, 4, 0), (1200, 3, 0), (1200, 2, 0), (1200, 3, 0), (1200, 1, 0)]
    read = exported(made(of, *records), format_)
    assert len({shown.track for shown in read.shown}) == 1
    assert sorted((shown.name, shown.depth) for shown in read.shown) == [("a", 0), ("b", 1), ("b", 1), ("c", 2)]


@in_both
def test_an_sm_holds_its_ctas(format_: str) -> None:
    of = table(*span(0, "a"), grid=(4, 1, 1))
    records = [Rec(cta, 0, 1100 + site, site, 0) for cta in range(4) for site in (0, 1)]
    trace = Trace(build(of, records, rows=4, sm={0: 12, 1: 3, 2: 12, 3: 3}), of, TraceMeta("gemm"))
    tracks = [shown.track for shown in exported(trace, format_).shown]
    assert {track[:2] for track in tracks} == {("gemm", "SM 12"), ("gemm", "SM 3")}
    assert sorted("CTA 0" in " ".join(track) for track in tracks if track[1] == "SM 12") == [False, True]


@in_both
def test_a_range_that_never_ended_says_so_and_lasts_to_the_exit(format_: str) -> None:
    (shown,) = exported(made(table(*span(0, "a")), (1100, 0, 0)), format_).shown
    assert shown.args["truncated"] is True
    assert (shown.start, shown.end) == (50, 4500)


@in_both
def test_an_arrow_to_a_range_that_began_before_its_source_ended_is_kept(format_: str) -> None:
    of = table(
        *span(0, "load", group="p"),
        *span(2, "wait", group="c"),
        writers=(Writer(0, "p", None, 0), Writer(1, "c", None, 32)),
        flows=(("load", "wait"),),
    )
    for begin in (1050, 1100, 1150, 1200, 1250):  # before, at the begin of, inside, at the end of and after the load
        records = [Rec(0, 0, 1100, 0), Rec(0, 0, 1200, 1), Rec(0, 1, begin, 2), Rec(0, 1, begin + 90, 3)]
        read = exported(Trace(build(of, records), of), format_)
        assert [(src.name, dst.name) for src, dst in read.arrows] == [("load", "wait")]


@in_both
@pytest.mark.parametrize("records", [0, 1])
def test_few_events_make_a_file(records: int, format_: str) -> None:
    trace = made(table(instant(0, "a")), *[(1100, 0, 5)] * records)
    assert len(exported(trace, format_).shown) == records


@in_both
def test_a_payload_of_zero_keeps_its_sign(format_: str) -> None:
    of = table(*span(0, "a", payload=PayloadType.FLOAT32), *span(2, "b", payload=PayloadType.FLOAT32))
    records = [(1100, 0, bits(0.0)), (1200, 1, bits(0.0)), (1300, 2, bits(-0.0)), (1400, 3, bits(-0.0))]
    shown = exported(made(of, *records), format_).shown
    assert [math.copysign(1, each.args["payload"]) for each in shown] == [1, -1]


@in_both
def test_tracks_that_nest_and_tracks_that_cross_are_beside_each_other(format_: str) -> None:
    """The former are laid out as a whole, the latter range by range; so are those of more ranges inside each other."""
    of = table(*span(0, "a", lane="x"), *span(2, "b", lane="y"), *span(4, "c", lane="y"), *span(6, "d", lane="z"))
    crossing = [(1010, 2, 0), (1020, 4, 0), (1030, 3, 0), (1040, 5, 0)]
    deep = [(1050 + i, 6, i) for i in range(DEEP + 3)] + [(1100 + i, 7, DEEP + 2 - i) for i in range(DEEP + 3)]
    nesting = [(1200, 0, 0), (1210, 0, 1), (1220, 1, 1), (1230, 1, 0)]
    trace = made(replace(of, capacity=80), *crossing, *deep, *nesting)
    check(trace, format_)
    read = exported(trace, format_)
    assert [shown.depth for shown in read.shown if shown.name == "d"] == list(range(DEEP + 3))
    assert len({shown.track for shown in read.shown}) == 4


@in_both
def test_all_events_at_one_time_are_kept(format_: str) -> None:
    of = table(*span(0, "a"), instant(2, "b"))
    check(made(of, *[(1100, site, 0) for site in (0, 2, 1, 0, 0, 1, 2, 1)]), format_)


@in_both
def test_cycles_of_days_stay_exact(format_: str) -> None:
    far = 2**50 - 3
    trace = made(table(*span(0, "a")), (far, 0, 0), (far + 2, 1, 0), entry=0, exit_=far + 2)
    (shown,) = exported(trace, format_).shown
    assert (shown.args["start_cycles"], shown.args["duration_cycles"]) == (far, 2)


def noted(trace: Trace, *notes: Note) -> Trace:
    trace.meta = replace(trace.meta, notes=notes)
    return trace


def notes_of(read: Read) -> list[tuple[str, str, int, int]]:
    return [
        (shown.track[-1], shown.name, shown.start, shown.end)
        for shown in read.shown
        if any(part.startswith("notes") for part in shown.track)
    ]


@in_both
def test_notes_are_on_a_track_of_their_own_at_the_times_of_what_they_are_on(format_: str) -> None:
    trace = load(next(file for file in RECORDED if file.stem == "roles_split"))
    event = trace.events.query("cta == 2").iloc[5]
    written = Note(2, int(event["start"]), int(event["end"]), "too long? <&>", int(event["thread"]))
    read = exported(noted(trace, written), format_)
    (note,) = notes_of(read)
    (same,) = [
        shown for shown in read.shown
        if shown.args.get("start_cycles") == event["start"] and shown.name == event["name"]
        and any("CTA 2" in part for part in shown.track)
    ]  # fmt: skip
    assert note == ("notes", "too long? <&>", same.start, same.end)
    (shown,) = [shown for shown in read.shown if shown.name == written.text]
    assert shown.args == {
        "cta": 2, "thread": written.thread, "start_cycles": written.start, "duration_cycles": event["duration"],
    }  # fmt: skip


@in_both
def test_notes_that_overlap_are_on_rows_of_their_own_and_a_time_is_an_instant(format_: str) -> None:
    trace = made(table(*span(0, "work")), (1100, 0, 0), (1500, 1, 0))
    notes = (Note(0, 0, 100, "a"), Note(0, 50, 200, "b"), Note(0, 100, 100, "c"), Note(0, 100, 300, "d"))
    read = exported(noted(trace, *notes), format_)
    assert sorted((name, track) for track, name, _, _ in notes_of(read)) == [
        ("a", "notes"), ("b", "notes · row 2"), ("c", "notes · row 3"), ("d", "notes"),
    ]  # fmt: skip
    assert [shown.instant for shown in read.shown if shown.name in "abcd"] == [False, False, True, False]


@in_both
def test_a_note_on_a_cta_that_did_not_record_is_left_out(format_: str) -> None:
    trace = load(next(file for file in RECORDED if file.stem == "roles_split"))
    assert notes_of(exported(noted(trace, Note(10_000, 0, 5, "nobody")), format_)) == []


@in_both
def test_losses_and_simulated_times_are_said(format_: str) -> None:
    of = table(instant(0, "a"), capacity=2)
    slots = build(of, [Rec(0, 0, 1100 + i, 0) for i in range(5)])
    read = exported(Trace(slots, of, TraceMeta("gemm", device="virtual", gpu="h200 model")), format_)
    assert read.about["trust"] == "virtual GPU (h200 model): simulated times, not measured"
    assert read.about["incomplete"].startswith("lost 3 records of 1 writer: max_events=5")
    assert [(loss["cta"], loss["lost"], loss["recorded"]) for loss in read.losses] == [(0, 3, 2)]


@in_both
def test_where_no_clock_is_known_the_unit_is_cycles(format_: str) -> None:
    of = table(*span(0, "a"))
    slots = build(of, [Rec(0, 0, 1100, 0), Rec(0, 0, 1203, 1)])
    slots[..., 3] = slots[..., 5] = 7
    read = exported(Trace(slots, of), format_)
    assert (read.shown[0].start, read.shown[0].end) == (100, 203)
    assert read.about["time_unit"].startswith("cycles")


@in_both
def test_a_name_that_ends_in_gz_is_packed(format_: str, tmp_path: Path) -> None:
    write, read = FORMATS[format_]
    trace = load(RECORDED[0])
    path = write(trace, tmp_path / "t.gz")
    assert path == tmp_path / "t.gz"
    assert len(read(gzip.decompress(path.read_bytes())).shown) == len(trace)


@in_both
def test_the_same_trace_gives_the_same_bytes(format_: str, tmp_path: Path) -> None:
    write, _ = FORMATS[format_]
    trace = load(RECORDED[1])
    assert write(trace, tmp_path / "a.gz").read_bytes() == write(load(RECORDED[1]), tmp_path / "b.gz").read_bytes()


@in_both
def test_a_failed_export_leaves_what_was_there(format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    path.write_text("before")
    trace = load(RECORDED[0])
    writer = {"perfetto": "perfetto_trace"}.get(format_, format_)
    monkeypatch.setattr(f"tltrace_nb.export.{writer}.payloads", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        FORMATS[format_][0](trace, path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("t", "before")]


@in_both
def test_a_folder_that_is_not_there_is_an_os_error(format_: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        FORMATS[format_][0](load(RECORDED[0]), tmp_path / "nowhere" / "t")
