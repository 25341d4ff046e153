"""CTAs of a grid that are run together compute what they compute one by one, or are run one by one."""

from typing import Any

import batch_kernels
import numpy as np
import pytest
import torch
from batch_kernels import FAILING, ONE_BY_ONE, TOGETHER, by_rows
from generated.check import fits, ways
from generated.generator import generate
from generated.interpreter import inputs as inputs_of
from generated.render import render
from kernels import BY_NAME, REFERENCES
from kernels.tiers import tier

from tltrace_nb.core.runtime.virtual import compile_virtual
from tltrace_nb.simulator import run as running
from tltrace_nb.simulator.batch import program as batch_program
from tltrace_nb.simulator.batch import running as batch_running
from tltrace_nb.simulator.batch.memory import OneByOneError, Owners
from tltrace_nb.simulator.errors import SimulationError

GPU_OF = {"sm_80": "a100", "sm_90a": "h200"}
APART = {
    "attention_backward": "atomics",
    "cluster": "clusters",
    "convolution": "im2col",
    "experts": "atomics",
    "histogram": "atomics",
    "payloads": "it records what it has written",
    "rasterised_cluster_gemm": "clusters",
    "split_k": "atomics",
    "stream_k": "atomics",
}
"""Reference kernels whose CTAs go one by one, and why."""
CASES = [pytest.param(r.name, a, id=f"{r.name}-{a}", marks=tier(r)) for r in REFERENCES for a in r.architectures]


@pytest.fixture
def _small_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grids of any size are run in batches, whatever it takes."""
    monkeypatch.setattr(running, "MANY", 1)
    monkeypatch.setattr(batch_running, "LEAST", 0)


def ran(func: Any, inputs: Any, out_idx: Any = None, gpu: str = "h200", **how: Any) -> tuple[list[Any], Any]:
    """All tensors after a run, and its trace."""
    mine = [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]
    outputs, taken = compile_virtual(func, gpu, races="off", **how).run(mine, out_idx)
    made = () if outputs is None else outputs if isinstance(outputs, tuple) else (outputs,)
    return [t for t in (*mine, *made) if isinstance(t, torch.Tensor)], taken


def same(func: Any, inputs: Any, out_idx: Any = None, gpu: str = "h200", **how: Any) -> bool:
    """Whether CTAs went in batches; that all tensors and records are those of CTAs one by one is asserted."""
    found, taken = ran(func, inputs, out_idx, gpu, **how)
    wanted, whole = ran(func, inputs, out_idx, gpu, every_cta=True, **how)
    for one, other in zip(found, wanted, strict=True):
        assert torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))
    np.testing.assert_array_equal(taken.slots, whole.slots)
    assert "batches" not in whole.meta.note
    return "batches" in taken.meta.note


def rows() -> list[torch.Tensor]:
    ctas = batch_kernels.CTAS
    return [torch.randint(0, 4, (ctas, 32)).float(), torch.arange(ctas * 32.0).reshape(ctas, 32)]


# ---- the same values


@pytest.mark.some(4)
@pytest.mark.parametrize(("name", "architecture"), CASES)
@pytest.mark.usefixtures("_small_grids")
def test_reference_kernels_compute_the_same_together(name: str, architecture: str) -> None:
    reference = BY_NAME[name]
    how = {"pass_configs": reference.pass_configs}
    together = same(reference.build(), reference.inputs("cpu"), list(reference.out_idx), GPU_OF[architecture], **how)
    assert together == (name not in APART)


@pytest.mark.some(2)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.usefixtures("_small_grids")
def test_generated_kernels_compute_the_same_together(seed: int) -> None:
    kernel = generate(seed)
    how = ways(kernel, seed)[0]
    assert fits(kernel, how)
    try:
        func = render(kernel, marked=False).build()
        tensors = [torch.from_numpy(inputs_of(kernel)[tensor.name]) for tensor in kernel.tensors]
        ran(func, tensors, [], how.gpu, pass_configs=how.pass_configs, every_cta=True)
    except Exception as error:  # TileLang raises whatever it raises
        pytest.skip(f"does not run one by one: {type(error).__name__}")
    same(func, tensors, [], how.gpu, pass_configs=how.pass_configs)


@pytest.mark.parametrize("inside", TOGETHER.values(), ids=TOGETHER)
@pytest.mark.usefixtures("_small_grids")
def test_ctas_that_have_nothing_to_do_with_each_other_run_together(inside: Any) -> None:
    assert same(by_rows(inside), rows())


@pytest.mark.usefixtures("_small_grids")
def test_ctas_that_fit_into_no_batch_are_run_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_running, "MEMORY", 5 * 32 * 4)
    found, taken = ran(by_rows(batch_kernels.plain), rows())
    assert "in 13 batches" in taken.meta.note
    assert torch.equal(*found)


def test_a_small_grid_runs_one_by_one() -> None:
    _, taken = ran(by_rows(batch_kernels.plain), rows())
    assert not taken.meta.note


# ---- one by one


@pytest.mark.parametrize("inside", ONE_BY_ONE.values(), ids=ONE_BY_ONE)
@pytest.mark.usefixtures("_small_grids")
def test_ctas_that_have_to_do_with_each_other_run_one_by_one(inside: Any) -> None:
    assert not same(by_rows(inside), rows())


@pytest.mark.parametrize("inside", FAILING.values(), ids=FAILING)
@pytest.mark.usefixtures("_small_grids")
def test_an_error_is_that_of_ctas_one_by_one(inside: Any) -> None:
    messages, left = [], []
    for every_cta in (False, True):
        kernel = compile_virtual(by_rows(inside), every_cta=every_cta, races="off")
        given = [torch.ones(batch_kernels.CTAS, 32), torch.zeros(batch_kernels.CTAS, 32)]
        with pytest.raises(SimulationError) as caught:
            kernel.run(given)
        messages.append((type(caught.value), str(caught.value)))
        left.append((given[1], caught.value.trace.slots))
    assert messages[0] == messages[1]
    assert torch.equal(left[0][0], left[1][0])
    np.testing.assert_array_equal(left[0][1], left[1][1])


@pytest.mark.usefixtures("_small_grids")
def test_lines_of_print_are_those_of_ctas_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for every_cta in (False, True):
        ran(by_rows(batch_kernels.printed), rows(), every_cta=every_cta)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""


@pytest.mark.usefixtures("_small_grids")
def test_tensors_that_are_the_same_memory_keep_ctas_apart() -> None:
    memory = torch.arange(batch_kernels.CTAS * 32.0).reshape(-1, 32)
    _, taken = compile_virtual(by_rows(batch_kernels.plain), races="off").run([memory, memory])
    assert not taken.meta.note


def test_what_a_program_calls_is_known_or_its_ctas_go_one_by_one() -> None:
    code = compile("move(a, b); quite_new(c)", "", "exec")
    assert "quite_new" in batch_program.unknown_names(code)
    assert "move" not in batch_program.unknown_names(code)


# ---- who has touched what


def test_rectangles_of_different_ctas_may_not_meet() -> None:
    owners = Owners((8, 8))
    ctas = np.arange(4, dtype=np.int32)
    corners = (np.array([0, 0, 4, 4]), np.array([0, 4, 0, 4]))
    owners.claim_boxes(corners, (4, 4), ctas)
    owners.claim_boxes(corners, (4, 4), ctas)
    owners.claim_boxes(corners, (1, 3), ctas)
    with pytest.raises(OneByOneError, match="same memory"):
        owners.claim((np.array([3]), np.array([3])), ctas[1:2])


@pytest.mark.parametrize(("start", "meet"), [(3, True), (4, False)])
def test_rectangles_off_the_tiles_of_others_are_told_by_their_elements(start: int, meet: bool) -> None:
    owners = Owners((16,))
    owners.claim_boxes((np.array([0]),), (4,), np.array([0], np.int32))
    if meet:
        with pytest.raises(OneByOneError, match="same memory"):
            owners.claim_boxes((np.array([start]),), (3,), np.array([1], np.int32))
    else:
        owners.claim_boxes((np.array([start]),), (3,), np.array([1], np.int32))


def test_ctas_of_one_statement_may_not_meet_either() -> None:
    with pytest.raises(OneByOneError, match="same memory"):
        Owners((16,)).claim_boxes((np.array([0, 4, 4]),), (4,), np.arange(3, dtype=np.int32))
