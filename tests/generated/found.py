"""What was a finding once, as small kernels and as seeds: each recorded or computed something wrong."""

from __future__ import annotations

from generated.nodes import (
    Add,
    Body,
    Break,
    Continue,
    End,
    Fill,
    Flag,
    For,
    Group,
    If,
    Int,
    Kernel,
    Launch,
    Let,
    Load,
    Name,
    Op,
    Range,
    Record,
    Return,
    Save,
    Set,
    Start,
    Stmt,
    Store,
    Tensor,
    Tile,
    Variable,
    While,
)

_FOUR = Int(4)
_BX, _TX, _K = Name("bx"), Name("tx"), Name("k0")
_ON_DATA = Op(">", Flag(_BX), Int(0))
_PROVABLE = Op("<", _BX, Int(8))
_SECOND_WARP = Op("==", Op("//", _TX, Int(32)), Int(1))
_TILES = tuple(Tile(name, scope, (16, 32)) for name, scope in (("s0", "shared"), ("s1", "shared"), ("f0", "fragment")))


def _kernel(
    *body: Stmt, grid: tuple[int, ...] = (3,), threads: int = 128, swizzle: tuple[int, str] | None = None
) -> Kernel:
    """A launch with this body, between the filling of ``f0`` and its saving; ``F`` is 1, 0, 1, 2, ..."""
    cta = _BX if len(grid) == 1 else Op("+", Op("*", Name("by"), Int(grid[0])), _BX)
    ctas = grid[0] * (grid[1] if len(grid) > 1 else 1)
    whole: Body = (
        Fill("f0", 0),
        *body,
        Save("f0", "B0", Op("*", cta, Int(16))),
        Store("R0", 0, Flag(_BX)),
    )
    tensors = (
        Tensor("A", (192, 32)),
        Tensor("F", (8,), "int32"),
        Tensor("B0", (16 * ctas, 32), output=True),
        Tensor("R0", (*grid, 1, threads), "int32", output=True),
    )
    return Kernel(tensors, (1, 0, 1, 2, 0, 4, 3, 0), (Launch(grid, threads, _TILES, whole, swizzle),))


def _thread_code(*body: Stmt) -> Kernel:
    """A launch whose body stands behind the tile operators, where threads may part."""
    kernel = _kernel()
    launch = kernel.launches[0]
    tail: Body = (*launch.body[:-1], *body, launch.body[-1])
    return Kernel(kernel.tensors, kernel.flags, (Launch((3,), 128, _TILES, tail),))


def _work(row: Op | Name = _BX, tile: str = "s0") -> Body:
    return (Load("A", Op("*", row, Int(16)), tile), Add("f0", tile))


def _pipeline(*body: Stmt, extent: Int | Flag = _FOUR, stages: int = 2) -> For:
    return For("pipelined", "k0", extent, body, stages)


def _jumping(jump: Stmt) -> Kernel:
    leave = If(Op(">", Flag(Op("+", _BX, _K)), Int(0)), (Record("i0", _K), jump))
    loop = For("serial", "k0", Int(3), (Range("r1", _K, (leave, *_work(_K))),))
    return _kernel(Range("r0", _BX, (loop,)), Record("i1", _BX))


FOUND: dict[str, Kernel] = {
    "a provable guard in a range in a branch": _kernel(If(_ON_DATA, (Range("r0", _BX, (If(_PROVABLE, _work()),)),))),
    "a provable guard around a part of a range": _kernel(
        If(_ON_DATA, (Range("r0", _BX, (*_work(), If(_PROVABLE, (Range("r1", _BX, _work(tile="s1")),)))),))
    ),
    "a branch in the same branch": _thread_code(
        If(
            Op("==", _TX, Int(5)),
            (Range("r0", _BX, (If(Op("==", _TX, Int(5)), (Range("r1", _TX, (Store("R0", 0, _BX),)),)),)),),
        )
    ),
    "a peeled guard in a pipeline": _kernel(
        _pipeline(*_work(_K), Record("i0", _K), If(Op(">=", _K, Int(2)), (Range("r0", _K, _work(_K, "s1")),)), stages=4)
    ),
    "a range around a guard that is peeled": _kernel(
        _pipeline(Range("r0", _K, (If(Op("<", _K, Int(1)), _work(_K)),)), *_work(_K, "s1"))
    ),
    "a pipeline in a branch": _kernel(If(_ON_DATA, (Range("r0", _BX, (_pipeline(*_work(_K)),)),))),
    "a variable that the other role sets": _kernel(
        Variable("u0", 0),
        For("serial", "k1", Int(2), (Set("u0", Op("+", Name("u0"), Int(4))), Record("i0", Name("u0")))),
        If(_ON_DATA, (_pipeline(*_work(_K)),)),
        Set("u0", Op("+", Name("u0"), Int(1))),
        Range("r0", Name("u0"), _work(tile="s1")),
    ),
    "a payload that its range changes": _kernel(
        Variable("u0", 0),
        Range("r0", Name("u0"), (Set("u0", Op("+", Name("u0"), Int(1))), *_work())),
        _pipeline(*_work(_K, "s1")),
    ),
    "break out of ranges": _jumping(Break()),
    "continue out of a range": _jumping(Continue()),
    "return out of ranges": _jumping(Return()),
    "break out of a while loop's range": _kernel(
        Variable("u0", 3),
        While(
            Op(">", Name("u0"), Int(0)),
            (
                Set("u0", Op("-", Name("u0"), Int(1))),
                Range("r0", Name("u0"), (If(Op("==", Name("u0"), Flag(_BX)), (Break(),)), *_work())),
            ),
        ),
        Record("i0", Name("u0")),
    ),
    "return of the leading threads": _thread_code(
        If(Op("<", _TX, Int(32)), (Return(),)), Range("r0", _TX, (Store("R0", 0, _BX),))
    ),
    "a role by a variable": _thread_code(
        Let("w0", Op("//", _TX, Int(32))),
        If(Op("==", Name("w0"), Int(1)), (Range("r0", _TX, (Store("R0", 0, _BX),)),)),
        Group("g0", 3, "warp", (If(Op(">", Name("w0"), Int(1)), (Record("i0", _TX),)),)),
    ),
    "a role by a variable that may change": _thread_code(
        Variable("w0", 0),
        Set("w0", Op("//", _TX, Int(32))),
        If(Op("==", Name("w0"), Int(1)), (Range("r0", _TX, (Store("R0", 0, _BX),)),)),
    ),
    "a loop of a thread's own": _thread_code(
        For("serial", "k0", Op("//", _TX, Int(32)), (Range("r0", _K, (Store("R0", 0, _K),)),))
    ),
    "a dead branch": _kernel(If(_PROVABLE, (Range("r0", _BX, _work()),), (Range("r1", _BX, _work()),))),
    "a dead loop": _kernel(For("serial", "k0", Int(0), (Range("r0", _K, _work(_K)),)), Record("i0", _BX)),
    "a rasterised grid": _kernel(
        Range("r0", Op("+", Op("*", Name("by"), Int(100)), _BX), _work()), grid=(7, 5), swizzle=(3, "row")
    ),
    "a rasterised grid by columns, pipelined": _kernel(
        _pipeline(Range("r0", Op("+", Op("*", Name("by"), Int(100)), _BX), _work(_K))),
        grid=(4, 4),
        swizzle=(3, "column"),
    ),
    "a pipeline with fewer turns than stages": _kernel(
        _pipeline(Range("r0", _K, _work(_K)), extent=Flag(_BX), stages=3)
    ),
    "a range around a dead loop in a branch of its own": _kernel(
        If(_PROVABLE, (If(_PROVABLE, (Range("r0", _BX, (For("serial", "k0", Int(0), _work(_K)),)),)), *_work())),
    ),
    "a branch that contradicts the one around it": _thread_code(
        If(
            Op("==", _TX, Int(5)),
            (
                Range("r0", _BX, (If(_SECOND_WARP, (Range("r1", _BX, (Store("R0", 0, _BX),)), Store("R0", 0, _TX))),)),
                Store("R0", 0, _BX),
            ),
        )
    ),
    "a guard that every iteration passes": _kernel(
        _pipeline(*_work(_K), Range("r0", _K, (If(Op(">=", _K, Int(0)), _work(_K, "s1")),)))
    ),
    "a guard on the iteration of a loop in a pipeline": _kernel(
        _pipeline(
            *_work(_K),
            For("serial", "k1", Int(2), (Range("r0", _K, (If(Op("<", Name("k1"), Int(1)), _work(_K, "s1")),)),)),
        )
    ),
    "a token whose end stands in another range": _kernel(
        _pipeline(*_work(_K), Start("x0", _K), *_work(_K, "s1"), Range("r0", _K, (End("x0"),)))
    ),
    "a record of every warp between the consumer's work and the producer's": _kernel(
        Group("g0", 3, "warp", (Record("i0", _BX),)),
        _pipeline(*_work(_K), stages=1),
        threads=256,
    ),
    "tokens around nothing in a pipeline": _kernel(
        _pipeline(Start("x0", _K), End("x0"), *_work(_K), Start("x1", _K), End("x1"))
    ),
}
"""By what was wrong."""

MAY_BE_REFUSED = frozenset(
    {
        "a variable that the other role sets",
        "a payload that its range changes",
        "a range around a guard that is peeled",
    }
)
"""Those that need not be traced: a payload without value in a role that records it, a range that is peeled away."""

SEEDS = {
    "sm_80-ws-by_hand": (975, 1287, 1557, 1674, 1932, 2169, 2832, 3183, 3222, 3676, 4098, 4155),
    "sm_80-ws-light": (1932, 3980, 4248),
    "sm_90a-plain-by_hand": (111, 265, 377, 1133, 1621, 1631, 2780, 2886, 3319, 3341, 3758, 3860),
    "sm_90a-ws-all": (237, 2151),
    "sm_90a-ws-by_hand": (
        *(583, 1372, 1522, 1576, 1720, 1810, 2017, 2028, 2251, 2268, 2344, 2368, 2461),
        *(2512, 2580, 2731, 3220, 3232, 3388, 3976, 4105, 4867),
    ),
}
"""Seeds below 5,000 that were findings in one way of building, by that way."""

STAY = {
    (1087, "sm_90a-ws-by_hand"): "TileLang's own kernel is a race: on a card it computes something else each time",
    (3533, "sm_90a-plain-by_hand"): "TileLang breaks out of the loop around a loop of one iteration",
    (
        4779,
        "sm_90a-ws-all",
    ): "TileLang runs an iteration of a pipeline deeper than its loop twice, and the trace shows it",
}
"""Seeds below 5,000 that differ, and why that is left so."""
