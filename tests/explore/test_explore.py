"""``explore``: what it shows of a builder, what it does with one that fails, what it leaves alone and behind."""

import gc
import random
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import ipywidgets
import numpy as np
import pytest
from exploring import eager, gather, move, open_shape, plain, scale, shown
from ipywidgets.widgets.widget import _instances

import tltrace_nb
from tltrace_nb import datasets, explore, trace
from tltrace_nb.explorer import explorer as module
from tltrace_nb.explorer.explorer import Explorer
from tltrace_nb.explorer.inputs import arrays, signature_of
from tltrace_nb.explorer.subjects import Kernels, Traces, subject
from tltrace_nb.explorer.worker import Cancelled


@pytest.fixture
def opened() -> Iterator[Any]:
    """``explore``, whose explorers are closed after the test."""
    made: list[Explorer] = []

    def open_(*given: Any, **options: Any) -> Explorer:
        made.append(explore(*given, **options))
        return made[-1]

    yield open_
    for each in made:
        each.close()
    ipywidgets.Widget.close_all()


# What it shows


def test_the_first_run_is_there_when_the_cell_is_done(opened: Any) -> None:
    explorer = opened(scale, N=512, block=[64, 128], gpu="classroom")
    assert shown(explorer).title == "scale: block=128, classroom"
    assert shown(explorer).events == len(explorer.trace.events) == 8
    assert explorer.trace.meta.gpu == "classroom model"


def test_a_move_shows_another_run_in_the_same_timeline(opened: Any) -> None:
    explorer = opened(scale, N=512, block=[64, 128], gpu=["classroom", "h200"])
    timeline, first = explorer.timeline, explorer.trace
    move(explorer, block=64)
    assert explorer.timeline is timeline
    assert explorer.trace is not first
    assert shown(explorer).events == 16
    move(explorer, gpu="h200")
    assert explorer.trace.meta.gpu == "h200 model"
    assert shown(explorer).title == "scale: block=64, h200"


def test_by_default_all_gpus_are_on_the_menu_and_the_virtual_h200_is_first(opened: Any) -> None:
    menu = opened(scale, N=512).controls["gpu"]
    assert menu.value == "h200"
    assert {"classroom", "a100", "t4"} < {name for name, _ in menu.options}


def test_it_says_what_changed(opened: Any) -> None:
    explorer = opened(scale, N=4096, block=[64, 128], gpu=["classroom", "h200"])
    assert "→" not in explorer.headline
    was = explorer.trace.ctas
    move(explorer, block=64, gpu="h200")
    now = explorer.trace.ctas
    change = now["end_ns"].max() / was["end_ns"].max() - 1
    assert change < -0.1
    assert f"(−{-100 * change:.1f} %) · occupancy " in explorer.headline
    assert explorer.headline.endswith(f"CTAs {len(was)} → {len(now)}")
    assert "waves" in explorer.headline


def test_the_table_has_occupancy_and_the_names(opened: Any) -> None:
    html = opened(scale, N=512, gpu="classroom")._facts.html
    for word in ("occupancy", "waves", "load", "store"):
        assert word in html


def test_going_back_shows_the_run_that_was_there(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = opened(scale, N=512, block=[64, 128], gpu="classroom")
    first = explorer.trace
    move(explorer, block=64)
    monkeypatch.setattr(Kernels, "run", None)  # whoever ran now would fail
    explorer.controls["block"].value = 128
    assert explorer.trace is first


def test_parameters_that_give_the_same_trace_are_named_as_they_are_now(opened: Any) -> None:
    trace = datasets.load("h200/add")
    explorer = opened(lambda n: trace, n=[1, 2])
    move(explorer, n=2)
    assert shown(explorer).title == "add: n=2"
    assert "unchanged" in explorer.headline


def test_what_is_kept_is_bounded(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    explorer = opened(scale, N=512, block=[32, 64, 128], gpu="classroom")
    first = explorer.trace
    move(explorer, block=64)
    move(explorer, block=32)
    assert len(explorer._kept) == 2
    move(explorer, block=128)
    assert explorer.trace is not first
    monkeypatch.setattr(explorer._kept, "_most_bytes", 1)
    move(explorer, block=64)
    assert len(explorer._kept) == 1


def test_where_nothing_runs_it_has_a_still_picture_and_says_what_it_shows(opened: Any) -> None:
    explorer = opened(scale, N=512, block=[64, 128], gpu="classroom")
    forms = explorer._repr_mimebundle_()
    assert "<img" in forms["text/html"]
    assert forms["text/plain"].startswith("Explorer of scale, block=128, classroom: duration ")
    assert "application/vnd.jupyter.widget-view+json" in forms


# What it takes


def test_a_plain_builder_gets_automatic_markers(opened: Any) -> None:
    explorer = opened(plain, N=256, block=[32, 64], gpu="classroom")
    assert any(name.startswith("copy") for name in explorer.trace.events["name"].unique())


def test_a_builder_that_runs_at_once_takes_its_tensors_as_parameters(opened: Any) -> None:
    explorer = opened(eager, A=np.zeros((256, 64), np.float16), block=[32, 64], gpu="classroom")
    assert len(explorer.trace.ctas) == 4
    move(explorer, block=32)
    assert len(explorer.trace.ctas) == 8


def test_nothing_is_printed(opened: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_said_virtual", False)
    opened(plain, N=256, block=[32, 64], gpu="classroom")
    assert capsys.readouterr().out == ""


def test_a_function_that_returns_traces(opened: Any) -> None:
    explorer = opened(datasets.load, name=["h200/gemm", "h200/softmax"])
    assert shown(explorer).events == len(datasets.load("h200/gemm").events)
    assert "gpu" not in explorer.controls
    move(explorer, name="h200/softmax")
    assert shown(explorer).events == len(datasets.load("h200/softmax").events)


def test_a_function_gets_the_gpu_if_it_takes_one(opened: Any) -> None:
    asked = []

    def load(gpu):
        asked.append(gpu)
        return datasets.load("h200/gemm")

    explorer = opened(load, gpu=["big", "small"])
    move(explorer, gpu="small")
    assert asked == ["big", "small"]


def test_inputs_may_be_given_or_made_from_the_parameters(opened: Any) -> None:
    zeros = [np.zeros((64, 64), np.float16), np.array([3], np.int32)]
    assert len(opened(gather, N=64, inputs=zeros, gpu="classroom").trace.events) == 3

    def tensors(N, pages):
        return [np.zeros((N, 64), np.float16), np.array([pages], np.int32)]

    explorer = opened(gather, N=64, pages=(1, 5), inputs=tensors, gpu="classroom")
    move(explorer, pages=2)
    assert explorer.trace.events["payload"].tolist() == [0, 1]


def test_made_inputs_have_the_kernels_shapes_and_types_and_are_the_same_each_time() -> None:
    func, _, _ = gather.marked(N=32)
    signature = signature_of(func, {2})
    assert signature == (("A", (32, 64), "float16"), ("often", (1,), "int32"))
    one, two = arrays(signature), arrays(signature)
    assert [(each.shape, str(each.dtype)) for each in one] == [((32, 64), "float16"), ((1,), "int32")]
    assert all((a == b).all() for a, b in zip(one, two, strict=True))
    assert one[0].std() > 0.5
    assert one[1] == 0  # it may be an index


@pytest.mark.parametrize(
    ("wrong", "options", "message"),
    [
        (7, {}, "builder=7: give a @trace.jit or @tilelang.jit builder, or a function"),
        (scale, {"N": 64, "tile": [1, 2]}, "scale has no parameter 'tile'"),
        (scale, {}, "scale needs N"),
        (datasets.load, {"name": "h200/gemm", "gpu": "h200"}, "load has no parameter 'gpu'"),
        (datasets.load, {"name": "h200/gemm", "inputs": []}, "inputs= are those of a kernel"),
    ],
)
def test_a_wrong_call_is_a_type_error(wrong: Any, options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        explore(wrong, **options)


def test_an_unknown_gpu_is_a_value_error_with_the_right_ones() -> None:
    with pytest.raises(ValueError, match="gpu='h300': give one of 'h200'"):
        explore(scale, N=64, gpu=["h200", "h300"])


# What fails


def test_a_combination_that_fails_says_why_in_place_of_the_timeline_and_it_goes_on(opened: Any) -> None:
    explorer = opened(scale, N=512, stages=[1, 32], gpu="classroom")
    before = shown(explorer)
    move(explorer, stages=32)
    assert explorer.trace is None
    assert shown(explorer).instead.startswith("stages=32, classroom does not run:\n\nkernel scale, ")
    assert "bytes of shared memory, " in shown(explorer).instead
    move(explorer, stages=1)
    assert shown(explorer) == before
    assert explorer.trace is not None


def test_a_first_combination_that_fails_is_no_error_of_the_cell(opened: Any) -> None:
    explorer = opened(scale, N=512, stages=[32, 1], gpu="classroom")
    explorer.controls["stages"].value = 32
    explorer.wait(60)
    assert "shared memory" in shown(explorer).instead
    move(explorer, stages=1)
    assert shown(explorer).events > 0


def test_an_error_of_the_builders_own_is_shown_with_its_type(opened: Any) -> None:
    def load(step):
        if step == 2:
            raise KeyError("no second one")
        return datasets.load("h200/gemm")

    explorer = opened(load, step=(1, 3))
    move(explorer, step=2)
    assert shown(explorer).instead == "step=2 does not run:\n\nKeyError: 'no second one'"


def test_what_is_no_trace_is_said_to_be_none(opened: Any) -> None:
    explorer = opened(lambda n: n, n=(1, 3))
    assert "returned int: explore takes a @trace.jit or @tilelang.jit builder" in shown(explorer).instead


def test_an_open_shape_asks_for_inputs(opened: Any) -> None:
    assert "A has the shape [N, 64], so its inputs cannot be made up; pass explore(..., inputs=)" in (
        shown(opened(open_shape, block=[32, 64], gpu="classroom")).instead
    )
    explorer = opened(open_shape, block=[32, 64], gpu="classroom", inputs=[np.zeros((256, 64), np.float16)])
    assert explorer.trace is not None


WITHOUT = """
import sys
for package in ("tilelang", "torch", "tvm"):
    sys.modules[package] = None
from tltrace_nb import datasets, explore
explorer = explore(datasets.load, name=["h200/gemm", "h200/softmax"])
explorer.controls["name"].value = "h200/softmax"
explorer.wait(60)
print(len(explorer.trace.events))

def matmul(stages):
    import tilelang
explorer.close()
explorer = explore(matmul, stages=(1, 3))
print(explorer.timeline.instead)
explorer.close()
"""


def test_without_tilelang_recorded_traces_work_and_the_rest_says_what_is_missing() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], check=True, capture_output=True, text=True)
    events, *reason = done.stdout.splitlines()
    assert int(events) == len(datasets.load("h200/softmax").events)
    assert "tilelang is not installed here" in reason[-1]
    assert "What still works: recorded traces, tltrace_nb.load(path)" in reason[-1]
    assert "pip install tilelang" in reason[-1]


# What it cancels, leaves alone, leaves behind


def test_the_virtual_gpu_stops_in_the_middle_of_a_run() -> None:
    calls: list[int] = []

    def check() -> None:
        calls.append(len(calls))
        if len(calls) == 6:
            raise Cancelled

    kernels = subject(scale, None, trace)
    with pytest.raises(Cancelled):
        kernels.run({"N": 64 * 500, "block": 64}, "classroom", check)
    stopped = len(calls)
    kernels.run({"N": 64 * 500, "block": 64}, "classroom", lambda: calls.append(0))
    assert len(calls) - stopped > 500
    assert stopped == 6


def test_a_move_cancels_the_run_that_it_overtakes(opened: Any) -> None:
    begun, ends = threading.Event(), []

    def run(self: Any, values: Any, gpu: Any, check: Any) -> Any:
        if values["n"] == 2:
            begun.set()
            try:
                while True:
                    check()
            except Cancelled:
                ends.append(values["n"])
                raise
        return datasets.load("h200/gemm")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Traces, "run", run)
        explorer = opened(lambda n: None, n=[1, 2, 3])
        explorer.controls["n"].value = 2
        assert begun.wait(30)
        move(explorer, n=3)
        assert ends == [2]
        assert shown(explorer).title.endswith("n=3")


def test_the_switch_and_the_last_trace_are_left_alone(opened: Any) -> None:
    with trace.tracing(device="virtual"):
        scale(256)(np.zeros((256, 64), np.float16))
    last, history, enabled = trace.last, trace.history, trace.enabled
    explorer = opened(scale, N=512, block=[64, 128], gpu="classroom")
    move(explorer, block=64)
    assert trace.last is last
    assert trace.history == history
    assert trace.enabled == enabled


def test_closing_leaves_no_thread_and_no_widget() -> None:
    before, threads = set(_instances), threading.active_count()
    explorer = explore(scale, N=512, block=[64, 128], stages=(1, 2), gpu=["classroom", "h200"])
    assert threading.active_count() == threads + 1
    explorer.close()
    explorer.close()
    assert set(_instances) == before
    assert threading.active_count() == threads


@pytest.mark.wide
@pytest.mark.parametrize("many", [40, pytest.param(130, marks=pytest.mark.wide)])
def test_random_moves_leave_one_right_picture_and_no_leak(
    opened: Any, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(module, "KEPT", 3)
    explorer = opened(scale, N=512, block=[32, 64, 128], threads=[32, 64], stages=[1, 2, 32], gpu=["classroom", "t4"])
    dice = random.Random(7)

    def moves(count: int) -> None:
        for _ in range(count):
            name = dice.choice([*explorer.controls])
            control = explorer.controls[name]
            control.index = dice.randrange(len(control.options))
            if dice.random() < 0.5:
                assert explorer.wait(120)
        assert explorer.wait(120)

    def held() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    moves(many // 2)
    widgets, threads = len(_instances), threading.active_count()
    tracemalloc.start()
    try:
        moves(10)
        before = held()
        moves(many)
        grown = held() - before
    finally:
        tracemalloc.stop()
    move(explorer, stages=2, block=64, threads=32, gpu="t4")
    moves(1)
    assert len(_instances) == widgets
    assert threading.active_count() == threads
    assert grown < 3_000_000  # a run alone has 60 kB of events
    now = {name: control.value for name, control in explorer.controls.items()}
    if now["stages"] == 32:
        assert "shared memory" in shown(explorer).instead
    else:
        assert shown(explorer).title == "scale: " + module.in_words(
            {name: value for name, value in now.items() if name != "gpu"}, now["gpu"]
        )
        fresh = subject(scale, None, trace).run(explorer.values, now["gpu"], lambda: None)
        assert explorer.trace.events.equals(fresh.events)


def test_the_package_still_has_the_function_after_its_modules_are_imported() -> None:
    assert callable(tltrace_nb.explore)
    assert tltrace_nb.explore is explore
