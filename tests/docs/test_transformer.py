"""The example of a program with a profile runs as it is, and as torch compiles it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.wide

ROOT = Path(__file__).parents[2]
COMPILED = """
import torch, transformer
from tltrace_nb import trace

transformer.BATCH, transformer.LENGTH, transformer.LAYERS = 1, 64, 1
with torch.no_grad(), trace.tracing(device="virtual"):
    model, tokens = transformer.model_and_tokens("cpu")
    plain, launches = model(tokens), trace.launches
    torch.testing.assert_close(torch.compile(model, backend="aot_eager")(tokens), plain)
    assert trace.launches == 2 * launches == 8
"""


def run(*command: str) -> str:
    found = subprocess.run([sys.executable, *command], cwd=ROOT / "docs", capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_it_writes_the_profile_the_file_of_both_and_a_trace_of_each_kernel(tmp_path: Path) -> None:
    assert "traced launches were found" in run("transformer.py", "--out", str(tmp_path))
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"transformer.json.gz", "transformer.pftrace.gz", "rms_norm.tltrace", "matmul.tltrace"}


def test_torch_compile_takes_its_operators() -> None:
    run("-c", COMPILED)
