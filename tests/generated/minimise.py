"""A finding made small: statements are taken out and bodies take the place of what is around them, while it stays one.

The finding stays the same while the same build differs in the same kind: outputs, events, CUDA, a crash.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from generated.check import How, Result, Verdict, check
from generated.nodes import (
    Body,
    For,
    Int,
    Kernel,
    Launch,
    Range,
    Record,
    Start,
    Stmt,
    bodies,
    with_bodies,
)


def minimise(kernel: Kernel, how: How, result: Result, budget: int = 400) -> Kernel:
    """The smallest kernel found with the same kind of difference; ``budget``: kernels to try at most."""
    tries = 0
    while True:
        for smaller in _smaller(kernel):
            tries += 1
            if tries > budget:
                return kernel
            try:
                again = check(smaller, how, cuda=result.kind == "CUDA" or "generating" in result.kind)
            except Exception:  # no kernel: a name that it needs was taken out
                continue
            if again.verdict is Verdict.DIFFERS and _same(again, result):
                kernel = smaller
                break
        else:
            return kernel


def _same(a: Result, b: Result) -> bool:
    if a.kind != b.kind:
        return False
    if a.kind in ("events", "CUDA") or a.kind.startswith("outputs"):
        return True
    return a.details[0][:60] == b.details[0][:60]


def _smaller(kernel: Kernel) -> Iterator[Kernel]:
    """Kernels with less in them, the boldest cut first."""
    if len(kernel.launches) > 1:
        for i in range(len(kernel.launches)):
            yield dataclasses.replace(kernel, launches=(*kernel.launches[:i], *kernel.launches[i + 1 :]))
    for i, launch in enumerate(kernel.launches):

        def with_launch(new: Launch, i: int = i) -> Kernel:
            return dataclasses.replace(kernel, launches=(*kernel.launches[:i], new, *kernel.launches[i + 1 :]))

        for body in _cuts(launch.body):
            yield with_launch(dataclasses.replace(launch, body=body))
        if launch.swizzle:
            yield with_launch(dataclasses.replace(launch, swizzle=None))
        for j in range(len(launch.tiles)):
            yield with_launch(dataclasses.replace(launch, tiles=(*launch.tiles[:j], *launch.tiles[j + 1 :])))
    for i, macro in enumerate(kernel.macros):
        rest = (*kernel.macros[:i], *kernel.macros[i + 1 :])
        yield dataclasses.replace(kernel, macros=rest)
        for body in _cuts(macro.body):
            yield dataclasses.replace(
                kernel, macros=(*kernel.macros[:i], dataclasses.replace(macro, body=body), *kernel.macros[i + 1 :])
            )
    for i in range(len(kernel.tensors)):
        if not kernel.tensors[i].dynamic:
            yield dataclasses.replace(kernel, tensors=(*kernel.tensors[:i], *kernel.tensors[i + 1 :]))


def _cuts(body: Body) -> Iterator[Body]:
    """The body without a run of statements, with a statement's own body in its place, or with a smaller statement."""
    size = len(body)
    while size >= 1:
        for first in range(0, len(body), size):
            if size < len(body) or len(body) == 1:
                yield (*body[:first], *body[first + size :])
        size //= 2
    for i, statement in enumerate(body):
        for inner in bodies(statement):
            yield (*body[:i], *inner, *body[i + 1 :])
        for smaller in _smaller_statements(statement):
            yield (*body[:i], smaller, *body[i + 1 :])


def _smaller_statements(statement: Stmt) -> Iterator[Stmt]:
    inside = bodies(statement)
    for i, body in enumerate(inside):
        for cut in _cuts(body):
            yield with_bodies(statement, (*inside[:i], cut, *inside[i + 1 :]))
    if len(inside) == 2:
        yield dataclasses.replace(statement, other=None)
    if isinstance(statement, (Range, Start, Record)) and statement.payload not in (None, Int(7)):
        yield dataclasses.replace(statement, payload=Int(7))
    if isinstance(statement, For) and isinstance(statement.extent, Int) and statement.extent.value > 2:
        yield dataclasses.replace(statement, extent=Int(2))
