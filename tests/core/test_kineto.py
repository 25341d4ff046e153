"""What is read of a profile that ``torch.profiler`` recorded."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from kineto_form import START, Program
from torch.profiler import ProfilerActivity, record_function

from tltrace_nb.data.kineto import ProfileError, recording


def profiled() -> Any:
    with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as prof, record_function("step"):
        torch.ones(4, 4) @ torch.ones(4, 4)
    return prof


def test_a_profile_of_this_process_has_its_operators_at_their_unix_times() -> None:
    before = time.time_ns()
    prof = profiled()
    after = time.time_ns()
    read = recording("prof", prof)
    spans = {span.name: span for span in read.spans}
    step, product = spans["step"], spans["aten::matmul"]
    assert (step.category, product.category) == ("user_annotation", "cpu_op")
    assert step.line == product.line
    assert before < step.start <= product.start < product.end <= step.end < after
    assert read.processes[step.line[0]].endswith("CPU")
    assert read.lines[step.line].startswith("thread")


def test_a_profile_can_be_read_again_although_torch_exports_it_once() -> None:
    prof = profiled()
    assert recording("prof", prof) is recording("prof", prof)


@pytest.mark.parametrize("name", ["profile.json", "profile.json.gz"])
def test_what_a_profile_exported_is_what_it_says_itself(name: str, tmp_path: Path) -> None:
    prof = profiled()
    prof.export_chrome_trace(str(tmp_path / name))
    assert "aten::matmul" in {span.name for span in recording("prof", tmp_path / name).spans}
    with pytest.raises(ProfileError, match="of one that was exported already, give that file"):
        recording("prof", prof)


def test_a_profile_that_has_not_ended_says_so() -> None:
    with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as prof:
        torch.ones(2)
        with pytest.raises(ProfileError, match="Give a profile that has ended"):
            recording("prof", prof)


def test_a_kernel_knows_its_call(tmp_path: Path) -> None:
    program = Program()
    program.kernel("k", 30_000, 500, grid=(1, 1, 1), block=(128, 1, 1), stream=9)
    read = recording("prof", program.write(tmp_path / "p.json"))
    (kernel,) = read.kernels
    assert (kernel.line, kernel.start - START, kernel.end - START) == (("0", "9"), 30_000, 30_500)
    assert kernel.extents("grid") == (1, 1, 1)
    call = read.call_of(kernel)
    assert call is not None
    assert (call.name, call.start - START) == ("cuLaunchKernel", 15_000)
    assert list(read.processes.values()) == ["python · CPU", "python · GPU 0"]


def test_times_keep_every_nanosecond(tmp_path: Path) -> None:
    program = Program()
    for at in range(1000):
        program.span("cpu_op", str(at), at * 1_000_003, 7)
    read = recording("prof", program.write(tmp_path / "p.json"))
    assert [(span.start - START, span.end - span.start) for span in read.spans] == [
        (at * 1_000_003, 7) for at in range(1000)
    ]


def test_a_profile_without_a_base_time_has_its_own(tmp_path: Path) -> None:
    file = tmp_path / "old.json"
    file.write_text(json.dumps([{"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2}]))
    (span,) = recording("prof", file).spans
    assert (span.start, span.end) == (1500, 3500)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{}", b"[1]", b"not json", b'{"traceEvents": 5}', b'{"traceEvents": [{"ph": "X"}]}', b"\x1f\x8b broken",
        b'{"traceEvents": [{"ph": "X", "ts": "x"}]}', gzip.compress(b"{"),
        b'{"traceEvents": [{"ph": "X", "ts": null}]}',
        b'{"traceEvents": [{"ph": "M"}]}', b'{"traceEvents": [], "baseTimeNanoseconds": "x"}', b"\xff\xfe",
        b'{"traceEvents": [{"ph": "X", "ts": 1e999, "dur": 1}]}', b'{"traceEvents": [{"ph": "X", "ts": 1, "args": 5}]}',
        b'{"traceEvents": [{"ph": "X", "ts": NaN}]}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_file_that_is_no_profile_is_refused_with_its_name(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_bytes(content)
    with pytest.raises(ProfileError, match=r"prof='.*p\.json': this is no Chrome trace of torch\.profiler"):
        recording("prof", file)


def test_a_missing_file_is_said_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"prof='.*missing\.json': No such file or directory"):
        recording("prof", tmp_path / "missing.json")


@pytest.mark.parametrize("wrong", [None, 5, [], torch.profiler.profile])
def test_what_is_no_profile_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"prof=.*: give a torch\.profiler\.profile"):
        recording("prof", wrong)
