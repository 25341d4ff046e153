"""What ``docs/explore.md`` shows runs as it stands there."""

import re
import runpy
from pathlib import Path

import ipywidgets
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "explore.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_an_example_runs(number: int, tmp_path: Path) -> None:
    path = tmp_path / "example.py"  # TileLang reads a kernel's source
    path.write_text("from tltrace_nb import explore\n" + BLOCKS[number].replace("\nexplore(", "\nexplorer = explore("))
    explorer = runpy.run_path(str(path))["explorer"]
    try:
        assert explorer.trace is not None
        for control in explorer.controls.values():
            if "index" in control.traits():
                control.index = 0
        assert explorer.wait(120)
        assert explorer.trace is not None, explorer.timeline.instead
    finally:
        explorer.close()
        ipywidgets.Widget.close_all()
