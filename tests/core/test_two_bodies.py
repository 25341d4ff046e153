"""A kernel of which some CTAs record: the others run the untraced body."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import tilelang
from kernels import BY_NAME, REFERENCES, Reference, builds
from kernels.source import plain_body, recording_body, untraced
from kernels.tiers import cases

from tltrace_nb.core.compile.options import TraceOptions


def _of_first_cta(reference: Reference, architecture: str) -> tuple[str, str, bool]:
    """The CUDA source of a kernel whose first CTA records, the bare one, and whether other CTAs do not record."""
    low = builds.prepared(reference, architecture, TraceOptions.of(ctas=[0]))
    traced, bare, _ = builds.planned(low, reference.build, architecture, reference.pass_configs)
    return traced.cuda, bare.cuda, low.table.ctas is not None


def _unnumbered(source: str) -> str:
    """A source without the numbers that tell variables of one name apart: two bodies have each of them twice."""
    return re.sub(r"(?<=\w)(_\d+)+\b", "", source)


@pytest.mark.some(4)
@pytest.mark.parametrize(("reference", "architecture"), cases(REFERENCES))
def test_ctas_that_do_not_record_run_the_untraced_kernel(reference: Reference, architecture: str) -> None:
    cuda, bare, has_others = _of_first_cta(reference, architecture)
    plain = untraced(plain_body(cuda))
    assert (plain_body(cuda) != recording_body(cuda)) == has_others
    assert "__tlt_" not in plain
    assert _unnumbered(plain) == _unnumbered(bare)


def test_a_kernel_whose_ctas_all_record_has_one_body() -> None:
    cuda = builds.traced(BY_NAME["gemm_3"], "sm_90a").cuda
    assert cuda.count("tl::wgmma_ss") == builds.stripped("gemm_3", "sm_90a").cuda.count("tl::wgmma_ss")


def test_both_bodies_use_the_same_shared_memory() -> None:
    cuda, bare, _ = _of_first_cta(BY_NAME["gemm_3"], "sm_90a")
    assert cuda.count("__shared__") == bare.count("__shared__")


@pytest.mark.wide
@pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("cuobjdump")), reason="needs nvcc and cuobjdump")
@pytest.mark.parametrize("name", ["gemm_3", "attention", "dequantising_gemm", "rasterised_cluster_gemm"])
def test_the_machine_code_is_both_bodies_in_the_registers_of_one(name: str, tmp_path: Path) -> None:
    cuda, bare, _ = _of_first_cta(BY_NAME[name], "sm_90a")
    sources = {"two": cuda, "recording": recording_body(cuda), "bare": bare}
    built = {label: _compiled(source, tmp_path / f"{label}.cu") for label, source in sources.items()}
    registers = {label: found[0] for label, found in built.items()}
    work = {label: Counter(op for op in found[1] if op.startswith(_WORK)) for label, found in built.items()}
    assert len(set(registers.values())) == 1
    assert work["bare"].total() > 0
    assert work["two"] == work["recording"] + work["bare"]


_WORK = ("HGMMA", "UTMALDG", "MUFU.EX2", "SYNCS.PHASECHK", "SYNCS.ARRIVE", "F2F", "F2FP")
"""Instructions that neither records nor the branch between the bodies need."""


def _compiled(cuda: str, file: Path) -> tuple[str, list[str]]:
    """What ptxas says of registers and spills, and the opcodes of the machine code."""
    file.write_text(cuda)
    root = Path(tilelang.__file__).parent
    where = [f"-I{root / 'src'}", f"-I{root / '3rdparty/cutlass/include'}"]
    cubin = file.with_suffix(".cubin")
    command = ["nvcc", "-cubin", "-O3", "-std=c++20", "-arch=sm_90a", "-Xptxas", "-v", *where, "-o", cubin, file]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    sass = subprocess.run(["cuobjdump", "-sass", cubin], capture_output=True, text=True, check=True).stdout
    opcodes = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", sass)
    return " ".join(re.findall(r"Used \d+ registers|\d+ bytes spill \w+", said)), opcodes
