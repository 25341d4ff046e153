"""What is drawn over the lanes says so where there is more than is drawn."""

from __future__ import annotations

import pytest

from tltrace_nb import datasets
from tltrace_nb.widget import overlays


@pytest.mark.parametrize("name", overlays.OVERLAYS)
def test_bands_that_are_cut_say_of_how_many(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = datasets.load("h200/specialised_gemm")
    whole = overlays.OVERLAYS[name](trace)
    monkeypatch.setattr(overlays, "MOST", 3)
    cut = overlays.OVERLAYS[name](trace)
    assert "are drawn" not in whole["words"]
    assert len(cut["spans"]["cta"]) == 3
    assert f"the first 3 of {len(whole['spans']['cta']):,} are drawn" in cut["words"]
