"""A profile as a figure: host threads and streams over the SMs of its traced kernels."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from kineto_form import Program, launched

import tltrace_nb
from tltrace_nb.core.profile import Profile
from tltrace_nb.widget import profile as drawing


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    program = Program()
    traces = [launched("softmax", 500_000), launched("gemm", 520_000)]
    program.span("user_annotation", "step", 0, 900_000)
    program.span("cpu_op", "aten::<b>", 470_000, 60_000)
    program.span("overhead", "Activity Buffer Request", 10, 20, thread=-1)
    program.around(traces[0], 500_000, stream=7)
    program.around(traces[1], 520_000, stream=9)
    return tltrace_nb.profile(program.write(tmp_path_factory.mktemp("p") / "p.json"), [*traces, launched("add", 1_000)])


def of(figure: Any, kind: str) -> list[tuple[float, float, float, str]]:
    """Begin, end, height and text of each bar of a kind."""
    (found,) = [each for each in figure.data if each.name == kind]
    return [
        (base, base + x, y, text) for base, x, y, text in zip(found.base, found.x, found.y, found.text, strict=True)
    ]


def test_host_threads_are_over_streams_and_those_over_the_sms(profile: Profile) -> None:
    labels = list(profile.figure().layout.yaxis.ticktext)
    assert labels[:3] == ["CPU · thread 4242 (python)", "GPU 0 · stream 7", "GPU 0 · stream 9"]
    assert all(label.startswith("SM") for label in labels[3:])


def test_what_lies_inside_of_another_is_a_row_below_it(profile: Profile) -> None:
    figure = profile.figure()
    ((start, end, above, name),) = of(figure, "annotations")
    ((_, _, below, operator),) = of(figure, "operators")
    assert (start, end, name) == (0, 900_000, "step")
    assert above < below
    assert operator == "aten::&lt;b&gt;"


def test_the_ctas_of_each_kernel_lie_under_its_bar(profile: Profile) -> None:
    figure = profile.figure()
    for (start, end, _, name), count in zip(of(figure, "kernels"), (64, 64), strict=True):
        ctas = of(figure, f"CTAs of {name}")
        assert len(ctas) == count
        assert all(start <= first < last <= end for first, last, *_ in ctas)
        assert len({(y, first) for first, _, y, _ in ctas}) == count


def test_no_two_ctas_of_a_row_overlap(profile: Profile) -> None:
    figure = profile.figure()
    bars = sorted(
        (y, start, end) for name in ("softmax", "gemm") for start, end, y, _ in of(figure, f"CTAs of {name}_kernel")
    )
    assert all(y != other or end <= start for (y, _, end), (other, start, _) in itertools.pairwise(bars))


def test_it_shows_all_or_the_launch_that_is_asked_for(profile: Profile) -> None:
    assert profile.figure().layout.xaxis.range is None
    (start, end, *_) = of(profile.figure(), "kernels")[1]
    left, right = profile.figure(launch=1).layout.xaxis.range
    assert left < start < end < right
    assert right - left < 2 * (end - start)


def test_a_launch_that_is_not_in_the_profile_is_refused(profile: Profile) -> None:
    for number in (2, 3):
        with pytest.raises(
            ValueError, match=rf"launch={number}: give a launch that is in the profile, one of \[0, 1\]"
        ):
            profile.figure(launch=number)


def test_of_many_spans_the_longest_are_drawn_and_it_says_so(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "MOST", 2)
    figure = profile.figure()
    assert {each.name for each in figure.data if not each.name.startswith("CTAs")} == {"annotations", "operators"}
    assert "the longest 2 of 6" in figure.layout.title.text


def test_an_empty_profile_is_a_figure_without_bars(tmp_path: Path) -> None:
    assert len(tltrace_nb.profile(Program().write(tmp_path / "p.json"), []).figure().data) == 0
