"""The recorded traces that are shipped: each says where it comes from, and still is of the kernel that it names."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from kernels import BY_NAME, record
from recordings import RECORDED

from tltrace_nb import datasets, load
from tltrace_nb.core.compile import numbering
from tltrace_nb.core.compile.lowering import source_hash
from tltrace_nb.core.trace import Trace, TraceFileError, TraceMeta

FILES = sorted(RECORDED.glob("*.tltrace"))
ORIGIN = ("kernel", "gpu", "driver", "cuda", "source", "source_hash", "command", "captured")


def missing_origin(meta: TraceMeta) -> list[str]:
    """The parts of its origin that a recorded trace does not tell."""
    parts = {name: getattr(meta, name) for name in ORIGIN}
    parts |= {f"version of {package}": meta.versions.get(package) for package in ("tltrace_nb", "tilelang", "torch")}
    return [name for name, value in parts.items() if not value]


def test_every_kind_of_kernel_is_recorded() -> None:
    assert {file.stem for file in FILES} >= {*record.RECORDED, record.DEMO}


def test_every_trace_is_opened_by_its_name() -> None:
    assert [f"h200/{file.stem}" for file in FILES] == datasets.names()
    assert len(datasets.load("h200/gemm")) == len(load(RECORDED / "gemm.tltrace"))


def test_another_name_lists_the_right_ones() -> None:
    with pytest.raises(TraceFileError, match="name='gemm': give the name of a recorded trace, one of h200/add, "):
        datasets.load("gemm")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_trace_tells_its_origin(file: Path) -> None:
    trace = load(file)
    assert missing_origin(trace.meta) == []
    assert trace.meta.device == "cuda"


@pytest.mark.parametrize("part", ORIGIN)
def test_a_trace_without_its_origin_is_rejected(part: str) -> None:
    meta = dataclasses.replace(load(FILES[0]).meta, **{part: ""})
    assert missing_origin(meta) == [part]


@pytest.mark.parametrize("name", record.RECORDED)
def test_a_recorded_trace_is_of_the_kernel_as_it_is_now(name: str) -> None:
    trace = load(RECORDED / f"{name}.tltrace")
    assert trace.table.source_hash == source_hash(numbering.strip(BY_NAME[name].build()))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_recorded_trace_lost_nothing(file: Path) -> None:
    trace: Trace = load(file)
    assert len(trace) > 0
    assert trace.losses[["lost", "corrupt", "unmatched_ends"]].to_numpy().sum() == 0
    assert file.stat().st_size < 200_000
