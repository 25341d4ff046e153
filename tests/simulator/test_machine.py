"""The presets of the virtual GPU, and what a student may change."""

from dataclasses import FrozenInstanceError, replace

import pytest

from tltrace_nb.base.gpus import PRESETS, preset
from tltrace_nb.simulator.costs import device_bytes_per_cycle


def peak_tflops(gpu, rate):
    return rate * gpu.sms * gpu.clock_ghz / 1000


@pytest.mark.parametrize("name", ["h200", "h100", "a100", "rtx4090", "t4", "classroom"])
def test_a_preset_is_found_by_its_name_in_any_case(name):
    assert preset(name).name == preset(name.upper()).name == name


@pytest.mark.parametrize("wrong", ["h800", "", None])
def test_an_unknown_preset_lists_the_right_ones(wrong):
    with pytest.raises(
        (ValueError, TypeError), match="give one of 'h200', 'h100', 'a100', 'rtx4090', 't4', 'classroom'"
    ):
        preset(wrong)


@pytest.mark.parametrize(
    ("name", "dtype", "tflops"),
    [
        ("h200", "fp16", 989.4),
        ("h200", "tf32", 494.7),
        ("h200", "fp8", 1978.9),
        ("h100", "bf16", 989.4),
        ("a100", "fp16", 312),
        ("a100", "tf32", 156),
        ("a100", "int8", 624),
        ("a100", "fp64", 19.5),
        ("rtx4090", "fp16", 165.2),
        ("rtx4090", "fp8", 330.3),
        ("rtx4090", "int8", 660.6),
        ("t4", "fp16", 65),
        ("t4", "int8", 130),
    ],
)
def test_tensor_cores_reach_the_data_sheet(name, dtype, tflops):
    gpu = preset(name)
    assert peak_tflops(gpu, getattr(gpu.tensor, dtype)) == pytest.approx(tflops, rel=0.01)


@pytest.mark.parametrize(("name", "tflops"), [("a100", 19.5), ("rtx4090", 82.6), ("t4", 8.1)])
def test_cuda_cores_reach_the_data_sheet(name, tflops):
    gpu = preset(name)
    assert peak_tflops(gpu, gpu.cuda_flop_per_cycle) == pytest.approx(tflops, rel=0.01)


def test_the_clock_of_the_h200_is_within_the_measured_ones():
    assert 1.71 < preset("h200").clock_ghz < 1.98


def test_the_classroom_is_an_h200_in_small():
    small, large = preset("classroom"), preset("h200")
    shares = [device_bytes_per_cycle(gpu) / gpu.sms for gpu in (small, large)]
    assert small.latencies == large.latencies
    assert shares[0] == pytest.approx(shares[1], rel=0.01)


def test_a_student_changes_a_copy():
    mine = replace(preset("h200"), name="mine", sms=16)
    assert (mine.sms, preset("h200").sms) == (16, 132)


def test_a_preset_does_not_change():
    with pytest.raises(FrozenInstanceError):
        preset("h200").sms = 1


def test_models_are_keys():
    assert len({*PRESETS.values()}) == len(PRESETS)


@pytest.mark.parametrize("change", [{"sms": 0}, {"clock_ghz": -1.0}, {"shared_per_sm": 0}])
def test_a_gpu_without_something_is_refused(change):
    with pytest.raises(ValueError, match=f"{next(iter(change))}=.*positive"):
        replace(preset("t4"), **change)


def test_warps_and_threads_must_agree():
    with pytest.raises(ValueError, match="do not agree"):
        replace(preset("t4"), max_warps=48)
