"""``explore`` on the card: the same controls, and a trace of the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tltrace_nb import explore, trace

ipywidgets = pytest.importorskip("ipywidgets")
from exploring import move, plain, scale, shown  # noqa: E402 (it needs ipywidgets, too)


@pytest.fixture
def opened() -> Iterator[Any]:
    made = []

    def open_(*given: Any, **options: Any) -> Any:
        made.append(explore(*given, **options))
        return made[-1]

    yield open_
    for each in made:
        each.close()
    ipywidgets.Widget.close_all()


def test_a_move_runs_on_the_card_and_goes_back_at_once(opened: Any) -> None:
    explorer = opened(scale, N=512, block=[64, 128], gpu=["cuda", "h200"])
    assert explorer.trace is not None, shown(explorer).instead
    assert explorer.trace.meta.device == "cuda"
    first = explorer.trace
    move(explorer, block=64)
    assert len(explorer.trace.events) == 16
    move(explorer, gpu="h200")
    assert explorer.trace.meta.device == "virtual"
    explorer.controls["gpu"].value = "cuda"
    explorer.controls["block"].value = 128
    assert explorer.trace is first


def test_the_card_is_on_the_menu(opened: Any) -> None:
    assert "cuda" in dict(opened(scale, N=512).controls["gpu"].options)


def test_a_plain_builder_and_given_inputs(opened: Any) -> None:
    explorer = opened(plain, N=256, block=[32, 64], gpu="cuda", inputs=[np.ones((256, 64), np.float16)])
    assert explorer.trace is not None, shown(explorer).instead
    assert explorer.trace.meta.device == "cuda"


def test_what_the_card_cannot_run_is_said_and_it_goes_on(opened: Any) -> None:
    explorer = opened(scale, N=512, stages=[1, 32], gpu="cuda")
    move(explorer, stages=32)
    assert "does not run" in shown(explorer).instead
    move(explorer, stages=1)
    assert explorer.trace is not None


def test_the_last_trace_is_left_alone(opened: Any) -> None:
    before = trace.last
    opened(scale, N=512, gpu="cuda")
    assert trace.last is before
