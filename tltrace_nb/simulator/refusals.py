"""What must be refused about a kernel before anything else is done with it: what ``decisions`` does not allow.

In: statements. Out: what is wrong with each, in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tvm import tirx

from tltrace_nb.core.compile.ir import ROOT_BLOCK, Stmt, children, post_order_visit
from tltrace_nb.simulator.decisions import ATTRIBUTES, INNER_BLOCKS, LAUNCH, LOOPS, NODES, OPERATORS, Decision, Only

_AROUND = ("SeqStmt", "SBlockRealize", "SBlock", "AttrStmt", "AllocBuffer", "DeclBuffer", "Bind")
"""Statements around a launch; what a variable outside of it is must follow from the arguments (``storage.number``)."""


def undecided(statement: Stmt) -> Iterator[str]:
    """What must be refused about a statement and its expressions; the statements inside it are not looked at."""
    match statement:
        case tirx.BufferStore() | tirx.Evaluate() | tirx.Bind() | tirx.AssertStmt():
            yield from _of_nodes(statement)
            return
        case tirx.For():
            expressions = [statement.min, statement.extent]
            yield from _of_keys("loops annotated with", statement.annotations, LOOPS)
        case tirx.IfThenElse() | tirx.While():
            expressions = [statement.condition]
        case tirx.AttrStmt():
            expressions = []
            yield from _of_keys("the attribute", {statement.attr_key: statement.value}, ATTRIBUTES)
        case tirx.SBlock():
            expressions = []
            yield from _of_keys("an inner block annotated with", statement.annotations, INNER_BLOCKS)
        case _:
            expressions = []
    yield from _of_fields(statement)
    for expression in expressions:
        yield from _of_nodes(expression)


def undecided_outside(func: Any) -> Iterator[tuple[str, Stmt]]:
    """What must be refused about the statements around the launches of a PrimFunc, which the host executes."""

    def visit(statement: Stmt) -> Iterator[tuple[str, Stmt]]:
        if isinstance(statement, tirx.SBlock) and statement.name_hint == ROOT_BLOCK:
            yield from (
                (what, statement) for what in _of_keys("a launch annotated with", statement.annotations, LAUNCH)
            )
            return
        nothing = isinstance(statement, tirx.Evaluate) and not isinstance(statement.value, tirx.Call)
        if not nothing and type(statement).__name__ not in _AROUND:
            yield f"a {type(statement).__name__} outside of T.Kernel", statement
        yield from ((what, statement) for what in undecided(statement))
        for inner in children(statement):
            yield from visit(inner)

    return visit(func.body)


def _of_nodes(tree: Any) -> list[str]:
    found: list[str] = []

    def visit(node: Any) -> None:
        found.extend(_of_fields(node))
        if isinstance(node, tirx.Call):
            found.extend(_of_call(node))

    post_order_visit(tree, visit)
    return found


def _of_fields(node: Any) -> Iterator[str]:
    kind = type(node).__name__
    if kind not in NODES:
        yield f"a {kind}"
    for field, decision in NODES.get(kind, {}).items():
        if isinstance(decision, Only) and not decision.right(getattr(node, field)):
            yield f"a {kind} whose {field} is not {decision.what}"


def _of_call(call: Any) -> Iterator[str]:
    name = str(getattr(call.op, "name", "")).removeprefix("tirx.").removeprefix("tl.")
    operator = OPERATORS.get(name)
    if operator is None:
        return
    for key, value in (call.annotations or {}).items():
        decision = operator.annotations.get(key)
        if decision is None or (isinstance(decision, Only) and not decision.right(value)):
            yield f"{name} with {key}" if decision is None else f"{name} with {key} that is not {decision.what}"
    if len(call.args) > len(operator.arguments) and operator.more is None:
        yield f"{name} with {len(call.args)} arguments"
    for (argument, decision), value in zip(operator.arguments.items(), call.args, strict=False):
        if isinstance(decision, Only) and not decision.right(value):
            yield f"{name} with {argument} that is not {decision.what}"


def _of_keys(what: str, annotations: Mapping[str, Any], known: Mapping[str, Decision]) -> Iterator[str]:
    for key, value in annotations.items():
        decision = known.get(key)
        if decision is None or (isinstance(decision, Only) and not decision.right(value)):
            yield f"{what} {key}"
