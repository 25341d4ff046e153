"""A session of a day, in the kernel that JupyterLab talks to: its memory, files and threads stay as they are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

TESTS = Path(__file__).parents[1]
SETUP = f"""
import gc, logging, os, sys, threading
sys.path[:0] = {[str(TESTS.parent), str(TESTS), str(TESTS / "explore")]!r}
import ipywidgets, tilelang, torch
tilelang.logger.setLevel(logging.ERROR)
from exploring import scale
from tltrace_nb import Timeline, Trace, explore, trace
from tltrace_nb.core.runtime import kept
from tltrace_nb.explorer import explorer
from tltrace_nb.widget import shown

def state():
    gc.collect()
    objects = gc.get_objects()
    return dict(
        traces=sum(isinstance(each, Trace) for each in objects),
        timelines=sum(isinstance(each, Timeline) for each in objects),
        widgets=len(ipywidgets.widgets.widget._instances),
        files=len(os.listdir("/proc/self/fd")),
        threads=threading.active_count(),
        objects=len(objects),
        mib=int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20,
    )

x = torch.ones(256, 64).half()
with trace.tracing(device="virtual:classroom"):
    kernel = scale(256)
"""
SMALL = "shown.CELLS = kept.SECTIONS = explorer.KEPT = 6"
"""Bounds that a few cells come to; an explorer takes its own when it is made."""
OBJECTS = 8
"""That IPython itself keeps of each cell, at most: its number, its text."""
ROOM_MIB = 16


class Notebook:
    """A kernel, and a front end that runs cells in it as JupyterLab does, with their ids."""

    def __init__(self) -> None:
        self._manager, self._client = start_new_kernel(kernel_name="python3")

    def run(self, code: str, cell: str | None = None, asked: str = "None") -> Any:
        """Run a cell; the value of an expression behind it. Raises ``AssertionError`` where it fails."""
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {"asked": asked}}
        message = self._client.session.msg("execute_request", content, metadata={"cellId": cell} if cell else {})
        self._client.shell_channel.send(message)
        while True:  # all that it shows is taken, as a front end does
            shown = self._client.get_iopub_msg(timeout=300)
            if shown["content"].get("execution_state") == "idle" and self._answers(shown, message):
                break
        while not self._answers(answer := self._client.get_shell_msg(timeout=300), message):
            pass
        assert answer["content"]["status"] == "ok", "\n".join(answer["content"]["traceback"])
        return ast.literal_eval(answer["content"]["user_expressions"]["asked"]["data"]["text/plain"])

    @staticmethod
    def _answers(answer: dict[str, Any], message: dict[str, Any]) -> bool:
        return bool(answer["parent_header"].get("msg_id") == message["header"]["msg_id"])

    def state(self) -> dict[str, int]:
        """How many there are of each, and MiB of memory."""
        found: dict[str, int] = self.run("", asked="state()")
        return found

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    opened = Notebook()
    try:
        opened.run(SETUP)
        opened.run("%load_ext tltrace_nb")
        yield opened
    finally:
        opened.close()


def shown(notebook: Notebook, number: int) -> None:
    """Three of four cells are one that is run again, the others are new ones."""
    cell = "again" if number % 4 else f"cell {number}"
    notebook.run("%%tltrace --device virtual:classroom\ny = scale(256)(x)", cell)


def shown_in_cells_without_ids(notebook: Notebook, number: int) -> None:
    rows = 64 * (1 + number % 3)
    notebook.run(f"%%tltrace --device virtual:classroom\ny{number % 3} = scale({rows})(x[:{rows}])")


def moved(notebook: Notebook, number: int) -> None:
    """``explore`` is moved, to what it has run and to what it has not."""
    if number == 0:
        notebook.run(
            "e = explore(scale, N=(64, 4096, 64), block=[32, 64, 128], gpu='classroom'); display(e)", "explorer"
        )
    notebook.run(
        f"e.controls['N'].value = {64 * (1 + number * 7 % 64)}\n"
        f"e.controls['block'].value = {[32, 64, 128][number // 64 % 3]}\nassert e.wait(60)"
    )


def launched(notebook: Notebook, number: int) -> None:
    """Five launches, in a block of their own."""
    notebook.run("with trace.tracing(device='virtual:classroom'):\n    for _ in range(5): kernel(x)")


def assert_flat(notebook: Notebook, step: Callable[[Notebook, int], None], settled: int, until: int) -> None:
    """Nothing grows from the step on at which all bounds are met."""
    before: dict[str, Any] = {}
    for number in range(until):
        if number == settled:
            before = notebook.state()
        step(notebook, number)
    after = notebook.state()
    for what in ("traces", "timelines", "widgets", "files", "threads"):
        assert after[what] <= before[what] + 1, (what, before, after)
    assert after["objects"] <= before["objects"] + OBJECTS * (until - settled) + 2000, (before, after)
    assert after["mib"] <= before["mib"] + ROOM_MIB, (before, after)
    print(step.__name__, before, after)


STEPS = [shown, shown_in_cells_without_ids, moved, launched]


@pytest.mark.wide
@pytest.mark.parametrize("step", STEPS)
def test_a_short_session_leaves_nothing_behind(step: Callable[[Notebook, int], None], notebook: Notebook) -> None:
    notebook.run(SMALL)
    assert_flat(notebook, step, 28, 44)


@pytest.mark.full
@pytest.mark.parametrize("step", STEPS)
def test_a_session_of_a_day_leaves_nothing_behind(step: Callable[[Notebook, int], None], notebook: Notebook) -> None:
    """2,000 cells, moves and, five to a cell, 10,000 launches."""
    assert_flat(notebook, step, 400, 2000)
