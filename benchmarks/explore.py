"""How long ``explore`` takes to answer a move: from the control's new value to the timeline's new data.

    python benchmarks/explore.py [--moves N] [--json FILE]

The kernel and the sizes are those of ``docs/how-to/explore.md``, at 512³. Controls move at random, one at a time; an
answer is the build for the new parameters, the virtual run, its analyses and what is sent to the browser. The least
that a move takes is the pause after which a slider counts as still. Going back to a run that is kept, and combinations
that do not run, count by themselves. Seconds are those of the clock, to which other work on the machine adds, and
those of this process on the processor, which are what a move costs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tltrace_nb.explorer.explorer import KEPT

ROOT = Path(__file__).resolve().parents[1]
BAR_S = 1.0


def explorer_of_the_page(folder: Path) -> Any:
    """The explorer that the first example of ``docs/how-to/explore.md`` makes."""
    page = (ROOT / "docs" / "how-to" / "explore.md").read_text(encoding="utf-8")
    (folder / "example.py").write_text(re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0])
    spec = importlib.util.spec_from_file_location("example", folder / "example.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.explorer


def move(explorer: Any, dice: random.Random) -> None:
    """Give one control another value."""
    control = dice.choice([*explorer.controls.values()])
    if "options" in control.traits():
        count = len(control.options)
        control.index = (control.index + dice.randrange(1, count)) % count
    else:
        values = [each for each in range(control.min, control.max + 1) if each != control.value]
        control.value = dice.choice(values)


def figures(answers: list[tuple[float, float]]) -> dict[str, float]:
    """Median and worst of the clock and of the processor, in seconds, and how many."""
    if not answers:
        return {"moves": 0}
    clock, processor = zip(*answers, strict=True)
    found = {"median_s": statistics.median(clock), "worst_s": max(clock)}
    found |= {"median_processor_s": statistics.median(processor), "worst_processor_s": max(processor)}
    return {"moves": len(answers)} | {key: round(value, 3) for key, value in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=150)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    dice = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        explorer = explorer_of_the_page(Path(folder))
        first = time.perf_counter() - began
        answers: dict[str, list[tuple[float, float]]] = {}
        seen: list[Any] = []
        for _ in range(options.moves):
            began, spent = time.perf_counter(), time.process_time()
            move(explorer, dice)
            explorer.wait()
            took = time.perf_counter() - began, time.process_time() - spent
            gpu = explorer.controls["gpu"].value
            key = (gpu, *explorer.values.items())
            kind = "that do not run" if explorer.trace is None else "back to a run" if key in seen[-KEPT:] else gpu
            seen = [each for each in seen if each != key] + [key]
            answers.setdefault(kind, []).append(took)
        explorer.close()
    models = [each for kind, each in answers.items() if " " not in kind]
    new = [answer for each in models for answer in each]
    report = {
        "first_s": round(first, 3),
        "bar_s": BAR_S,
        "new runs": figures(new),
        "new runs within the bar": round(sum(clock <= BAR_S for clock, _ in new) / len(new), 3),
        **{kind: figures(each) for kind, each in sorted(answers.items())},
    }
    for kind, figure in report.items():
        print(f"{kind:24} {figure}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
