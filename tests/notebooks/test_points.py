"""What `benchmarks/lessons.py` measures on a GPU can be measured where no front end is installed."""

import subprocess
import sys

import pytest
from lessons import FOLDER

FRONT_END = ("ipywidgets", "anywidget", "plotly", "IPython", "nbformat", "nbclient")
PROGRAM = f"""
import sys
sys.modules.update(dict.fromkeys({FRONT_END}))
sys.path[:0] = [{str(FOLDER.parent / "benchmarks")!r}]
from lesson_points import points
keys = [point.key for point in points(4)]
assert len(set(keys)) == len(keys)
print(*sorted({{key.partition("/")[0] for key in keys}}), sep=",")
"""


@pytest.mark.wide
def test_no_point_needs_what_only_a_notebook_has() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    measured = {str(number) for number in (4, *range(7, 17))} | {"lab 1", "lab 2", "lab 3"}
    assert set(run.stdout.strip().split(",")) == measured, run.stderr
