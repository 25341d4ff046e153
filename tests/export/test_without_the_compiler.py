"""Every export works where neither TileLang nor torch can be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from traces import RECORDED

CODE = """
import sys
for package in ("tilelang", "torch", "tvm"):
    sys.modules[package] = None
import tltrace_nb
getattr(tltrace_nb.load(sys.argv[1]), sys.argv[2])(sys.argv[3])
"""


@pytest.mark.parametrize("call", ["to_html", "to_perfetto", "to_chrome", "to_parquet", "to_svg", "to_png"])
def test_an_export_needs_no_compiler(call: str, tmp_path: Path) -> None:
    pytest.importorskip({"to_parquet": "pyarrow", "to_png": "resvg_py"}.get(call, "json"))
    path = tmp_path / "t"
    subprocess.run([sys.executable, "-c", CODE, str(RECORDED[0]), call, str(path)], check=True)
    assert path.stat().st_size > 0
