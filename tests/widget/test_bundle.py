"""The front end that is committed is the one that its sources make."""

import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

FRONTEND = Path(__file__).parents[2] / "frontend"
BUNDLE = files("tltrace_nb").joinpath("widget", "static", "timeline.js")


def node(*command: str) -> str:
    """What a command of the front end prints; skipped without Node or the development packages."""
    if shutil.which("node") is None or not (FRONTEND / "node_modules").is_dir():
        pytest.skip("the front end's development packages are not installed: npm ci --prefix frontend")
    run = subprocess.run(command, cwd=FRONTEND, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return run.stdout


def test_the_bundle_is_fresh() -> None:
    assert node("node", "bundle.mjs", "--stdout") == BUNDLE.read_text(encoding="utf-8"), "npm run bundle in frontend/"


def test_the_front_end_passes_its_own_checks() -> None:
    assert "# fail 0" in node("npm", "run", "check")


def test_the_bundle_loads_nothing_and_says_where_it_comes_from() -> None:
    text = BUNDLE.read_text(encoding="utf-8")
    assert text.startswith("// Built from frontend/src by `npm run bundle`")
    assert "import(" not in text
    assert not re.search(r"(^|;)import\b", text, re.MULTILINE)
    assert "http" not in text
    assert "eval(" not in text
    assert "innerHTML" not in text


def test_the_bundle_can_stand_in_a_script_element() -> None:
    assert "</script" not in BUNDLE.read_text(encoding="utf-8").lower()


def test_the_lock_file_names_no_registry() -> None:
    assert "resolved" not in (FRONTEND / "package-lock.json").read_text(encoding="utf-8")
