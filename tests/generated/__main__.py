"""``python -m generated --seeds 0:500``: what the machine finds, counted, with the source of each finding in a file."""

from __future__ import annotations

import argparse
import collections
import time
from pathlib import Path

from generated.check import AUTOMATIC, BY_HAND, WAYS, How, Result, Verdict, check, fits, ways
from generated.features import EVERYTHING, FEATURES
from generated.generator import generate
from generated.minimise import minimise
from generated.nodes import Kernel
from generated.render import render


def main() -> None:
    """Check the kernels of some seeds."""
    parser = argparse.ArgumentParser(prog="python -m generated", description=__doc__)
    parser.add_argument("--seeds", default="0:100", help="first:last, the last left out; or one seed")
    parser.add_argument("--ways", default="two", help=f"two a seed, by_hand, auto, all, or of {', '.join(WAYS)}")
    parser.add_argument("--without", default="", help=f"features to switch off: {', '.join(FEATURES)}")
    parser.add_argument("--events", action="store_true", help="leave out the comparison of the CUDA sources")
    parser.add_argument("--minimise", action="store_true", help="make the first finding of each kind small")
    parser.add_argument("--findings", type=Path, default=Path("generated-findings"), help="folder for the sources")
    parser.add_argument("--source", action="store_true", help="print the sources of the kernels, and check nothing")
    args = parser.parse_args()
    first, _, last = args.seeds.partition(":")
    seeds = range(int(first), int(last) if last else int(first) + 1)
    profile = EVERYTHING.without(*filter(None, args.without.split(",")))
    if args.source:
        for seed in seeds:
            print(render(generate(seed, profile)).text)
        return
    counted: collections.Counter[str] = collections.Counter()
    kinds: set[str] = set()
    began = time.perf_counter()
    for number, seed in enumerate(seeds):
        if number and number % 20 == 0:
            so_far = ", ".join(f"{count} {what[:40]}" for what, count in counted.most_common(4))
            print(f"[{number} kernels, {time.perf_counter() - began:.0f} s: {so_far}]", flush=True)
        kernel = generate(seed, profile)
        for how in _ways(args.ways, kernel, seed):
            if not fits(kernel, how):
                continue
            result = check(kernel, how, cuda=not args.events)
            counted[f"{result.verdict} {result.kind}".strip()] += 1
            if result.verdict in (Verdict.DIFFERS, Verdict.REFUSED):
                print(
                    f"seed {seed} {how}: {result.verdict} {result.kind}", *result.details[:3], sep="\n    ", flush=True
                )
            if result.verdict is Verdict.DIFFERS:
                small = minimise(kernel, how, result) if args.minimise and result.kind not in kinds else None
                kinds.add(result.kind)
                _write(args.findings, seed, result, kernel, small)
    print(f"\n{len(seeds)} kernels, {sum(counted.values())} builds, {time.perf_counter() - began:.0f} s")
    for what, count in counted.most_common():
        print(f"{count:6} {what}")


def _ways(text: str, kernel: Kernel, seed: int) -> list[How]:
    named = {"two": ways(kernel, seed), "by_hand": BY_HAND, "auto": AUTOMATIC, "all": (*BY_HAND, *AUTOMATIC)}
    return list(named[text]) if text in named else [WAYS[name] for name in text.split(",")]


def _write(folder: Path, seed: int, result: Result, kernel: Kernel, small: Kernel | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    said = "\n".join(f"# {line}" for line in "\n".join((f"{result.how}: {result.kind}", *result.details)).split("\n"))
    marked = result.how.auto is None
    stem = f"{seed:05}-{result.how}"
    (folder / f"{stem}.py").write_text(f"{said}\n{render(kernel, marked).text}")
    if small is not None:
        (folder / f"{stem}-small.py").write_text(
            f"{said}\n{render(small, marked).text}\n\nNODES = '''\n{small!r}\n'''\n"
        )
        print("    minimised:", folder / f"{stem}-small.py", flush=True)


if __name__ == "__main__":
    main()
