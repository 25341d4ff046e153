"""``python -m programs``: every program in every way, as a table. The exit code is 1 where anything differed.

``tests`` and the project's root belong on ``PYTHONPATH``.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from programs.header import Program, programs
from programs.running import CUDA, VIRTUAL, WAYS, Outcome, outcomes, ways_on

SHOWN_STDERR = 12
"""Last lines of stderr that are shown of a run that failed."""


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit code."""
    given = _parser().parse_args(arguments)
    try:
        chosen = programs(tuple(given.names))
    except KeyError as error:
        print(f"programs: there is no program {error}", file=sys.stderr)
        return 2
    if given.device == VIRTUAL:
        chosen = [program for program in chosen if program.either]
    ways = ways_on(given.device, given.ways)
    begin = time.perf_counter()
    table = _run(chosen, ways, given.device, given.jobs)
    print(_table(table, ways))
    found = [outcome for row in table.values() for outcome in row]
    failed = [outcome for outcome in found if not outcome.ok]
    for outcome in failed:
        print(_details(outcome))
    seconds = time.perf_counter() - begin
    print(f"{len(table)} programs, {len(found)} runs, {len(failed)} failed, {seconds:.0f} s with {given.jobs} jobs")
    if given.json:
        rows = [dataclasses.asdict(outcome) | {"ok": outcome.ok} for outcome in found]
        given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="programs", description="Run TileLang programs plainly and traced.")
    parser.add_argument("--ways", type=_ways, default=WAYS, help=f"some of {','.join(WAYS)} (default: all)")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2), help="programs at a time")
    parser.add_argument("--device", choices=[CUDA, VIRTUAL], default=CUDA)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all that take the device)")
    return parser


def _ways(text: str) -> tuple[str, ...]:
    ways = tuple(text.split(","))
    if unknown := [way for way in ways if way not in WAYS]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: give some of {', '.join(WAYS)}")
    return ways


def _run(chosen: list[Program], ways: tuple[str, ...], device: str, jobs: int) -> dict[str, list[Outcome]]:
    """The rows by program, in the programs' order; each is said on stderr when it is done."""
    with ThreadPoolExecutor(jobs) as pool:
        tasks = {pool.submit(lambda p: list(outcomes(p, ways, device)), program): program for program in chosen}
        for task in as_completed(tasks):
            cells = "  ".join(f"{each.way} {_cell(each)}" for each in task.result())
            print(f"{tasks[task].name}: {cells}", file=sys.stderr, flush=True)
        return {program.name: task.result() for task, program in tasks.items()}


def _cell(outcome: Outcome) -> str:
    return f"{'ok' if outcome.ok else 'FAILED'} {outcome.seconds:.1f} s ×{outcome.ratio:.2f}"


def _table(table: dict[str, list[Outcome]], ways: tuple[str, ...]) -> str:
    rows = [["program", *ways], *([name, *map(_cell, row)] for name, row in table.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


def _details(outcome: Outcome) -> str:
    head = f"\n{outcome.program}, {outcome.way}:"
    told = [f"  {line}" for line in outcome.differences]
    stderr = [f"  | {line}" for line in outcome.stderr.splitlines()[-SHOWN_STDERR:]]
    return "\n".join([head, *told, *stderr])


if __name__ == "__main__":
    sys.exit(main())
