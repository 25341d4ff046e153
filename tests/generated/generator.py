"""A seed and a profile give one kernel, always the same.

Each kernel wants some features: the seed's own (``seed`` modulo the number of allowed ones) and a random share of the
rest. Statements are drawn from what is wanted and possible at a place; a draw that lacks the seed's own feature, holds
one that is not allowed, or is not a program (``interpreter.MalformedError``) is drawn again.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from generated.features import EVERYTHING, FEATURES, Profile, bounds, features
from generated.interpreter import MalformedError, interpret
from generated.nodes import (
    BLOCKS,
    ROWS,
    Add,
    Body,
    Break,
    Call,
    Continue,
    End,
    Expr,
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
    Macro,
    Move,
    Name,
    Op,
    Product,
    Range,
    Record,
    Return,
    Save,
    Set,
    Start,
    Stmt,
    Store,
    Sum,
    Sync,
    Tensor,
    Tile,
    Variable,
    While,
    bodies,
    walk,
)

COLUMNS = 32
FLAGS = 64
SLOTS = 4
"""Tiles that a CTA may save, and values that a thread may store."""

_ATTEMPTS = 400

_NEEDS = {
    "one_stage": ("pipeline",),
    "persistent": ("pipeline",),
    "four_stages": ("pipeline",),
    "fewer_trips_than_stages": ("pipeline",),
    "run_time_pipeline": ("pipeline", "run_time_trips"),
    "several_pipelines": ("pipeline",),
    "pipeline_in_loop": ("pipeline",),
    "pipeline_in_branch": ("pipeline",),
    "branch_in_pipeline": ("pipeline",),
    "loop_in_pipeline": ("pipeline",),
    "peeled_guard": ("pipeline", "branch_in_pipeline"),
    "variable_in_pipeline": ("pipeline",),
    "macro_in_pipeline": ("pipeline", "macro"),
}
"""What else a kernel wants that wants a feature."""


def generate(seed: int, profile: Profile = EVERYTHING) -> Kernel:
    """The kernel of a seed."""
    order = [name for name in FEATURES if name in profile.allowed]
    own = order[seed % len(order)]
    for attempt in range(_ATTEMPTS):
        rng = random.Random(f"{seed} {attempt} {' '.join(order)}")
        wanted = {name for name in order if rng.random() < profile.share} | {own, *_NEEDS.get(own, ())}
        kernel = _Draw(rng, wanted).kernel(seed)
        found = features(kernel)
        if own not in found or not found <= profile.allowed:
            continue
        try:
            interpret(kernel)
        except MalformedError:
            continue
        return kernel
    raise RuntimeError(f"seed {seed}: no kernel with {own} in {_ATTEMPTS} draws; allow more features")


@dataclass(frozen=True)
class _Here:
    """What may be used at a place of the source."""

    indices: tuple[tuple[str, int | None], ...] = ()
    """Loop variables in scope, each with its extent where that is known."""
    together: bool = True
    """Whether all threads of the CTA are here, as tile operators need."""
    pipelined: bool = False
    jumps: tuple[str, ...] = ()
    """The statements that may leave this place: break, continue, return."""
    depth: int = 0
    ready: frozenset[str] = frozenset()
    """Tiles that hold something."""
    readable: tuple[str, ...] = ()
    """Variables that payloads and conditions may read."""
    writable: tuple[str, ...] = ()
    macros: bool = True

    def deeper(self, **changes: object) -> _Here:
        return dataclasses.replace(self, depth=self.depth + 1, **changes)  # type: ignore[arg-type]


@dataclass
class _Draw:
    rng: random.Random
    wanted: set[str]
    numbers: dict[str, Iterator[int]] = field(default_factory=dict)
    macros: list[Macro] = field(default_factory=list)
    launch: Launch = field(default_factory=lambda: Launch((1,), 128, (), ()))
    tiles: list[Tile] = field(default_factory=list)
    number: int = 0
    saved: int = 0
    left: int = 0
    """Items that may still be drawn: what keeps a kernel small."""

    # ---- small things

    def chance(self, feature: str, probability: float) -> bool:
        """Whether to do something that a feature stands for."""
        return feature in self.wanted and self.rng.random() < probability

    def wants(self, *features: str) -> list[str]:
        return [name for name in features if name in self.wanted]

    def new(self, prefix: str) -> str:
        return f"{prefix}{next(self.numbers.setdefault(prefix, itertools.count()))}"

    # ---- the kernel

    def kernel(self, seed: int) -> Kernel:
        flags = tuple(self.rng.choice((0, 0, 1, 2, 3, 4)) for _ in range(FLAGS))
        count = 2 if self.chance("two_launches", 0.6) else 1
        dynamic = count == 1 and self.chance("dynamic", 0.6)
        launches = []
        for self.number in range(count):
            launches.append(self.one_launch(dynamic))
        rows = launches[0].grid[0] * ROWS - self.rng.choice((0, 3)) if dynamic else 12 * ROWS
        tensors = [Tensor("A", (rows, COLUMNS), dynamic=dynamic), Tensor("F", (FLAGS,), "int32")]
        if self.uses("P", launches):
            tensors += [Tensor("P", (64 * 6, 16), "float16"), Tensor("Q", (16 * 6, 16), "float16")]
        for number, launch in enumerate(launches):
            ctas = launch.grid[0] * (launch.grid[1] if len(launch.grid) > 1 else 1)
            tensors.append(Tensor(f"B{number}", (ctas * SLOTS * ROWS, COLUMNS), output=True))
            if self.uses(f"C{number}", launches):
                tensors.append(Tensor(f"C{number}", (ctas * 64, 16), output=True))
            tensors.append(Tensor(f"R{number}", (*launch.grid, SLOTS, launch.threads), "int32", output=True))
        return Kernel(tuple(tensors), flags, tuple(launches), tuple(self.macros), seed=seed)

    def uses(self, tensor: str, launches: list[Launch]) -> bool:
        return any(getattr(s, "tensor", None) == tensor for launch in launches for s, _ in walk(launch.body))

    def one_launch(self, dynamic: bool) -> Launch:
        gemm = self.chance("gemm", 0.7)
        plane = "swizzle" in self.wanted or self.rng.random() < 0.25
        grid: tuple[int, ...] = (self.rng.choice((3, 4)), 2) if plane else (self.rng.choice((2, 3, 4)),)
        swizzle = (self.rng.choice((1, 2, 3)), self.rng.choice(("row", "column"))) if "swizzle" in self.wanted else None
        cluster = 1
        if self.chance("cluster", 0.6) and not dynamic and swizzle is None:
            cluster, grid = 2, (4, *grid[1:])
        threads = 128 if gemm else self.rng.choice((128, 128, 128, 64, 256))
        tiles = [Tile("s0", "shared", (ROWS, COLUMNS)), Tile("f0", "fragment", (ROWS, COLUMNS))]
        if self.rng.random() < 0.5:
            tiles.append(Tile("s1", "shared", (ROWS, COLUMNS)))
        if self.chance("reduce", 0.7):
            tiles += [Tile("v0", "fragment", (ROWS,)), Tile("f1", "fragment", (ROWS, COLUMNS))]
        if self.chance("move", 0.6):
            tiles.append(Tile("o0", "shared", (ROWS, COLUMNS)))
        if gemm:
            tiles += [
                Tile("a0", "shared", (64, 16), "float16"),
                Tile("b0", "shared", (16, 16), "float16"),
                Tile("c0", "fragment", (64, 16)),
            ]
        self.launch, self.tiles = Launch(grid, threads, (), (), swizzle, cluster, dynamic), tiles
        self.saved, self.left = 0, self.rng.choice((4, 5, 6, 8))
        body = self.top()
        return dataclasses.replace(self.launch, body=body, tiles=tuple(self.tiles))

    def tile(self, name: str) -> bool:
        return any(tile.name == name for tile in self.tiles)

    def fresh(self, kind: str) -> str:
        """A new tile like the first of its kind."""
        model = next(tile for tile in self.tiles if tile.name == f"{kind}0")
        count = sum(tile.name.startswith(kind) for tile in self.tiles)
        self.tiles.append(dataclasses.replace(model, name=f"{kind}{count}"))
        return self.tiles[-1].name

    def top(self) -> Body:
        """A launch's body: variables, tile operators, what is saved, and thread code."""
        body: list[Stmt] = []
        if self.chance("persistent", 0.5):
            return self.persistent()
        uniform = [self.new("u") for _ in range(self.rng.choice((1, 2)))]
        own = [self.new("t")] if self.rng.random() < 0.6 else []
        for name in (*uniform, *own):
            late = self.chance("variable_without_value", 0.5)
            body.append(Variable(name, None if late else self.rng.choice((0, 1, 5))))
            if late:
                body.append(Set(name, self.rng.choice((Flag(Name("bx")), Name("bx"), Int(2)))))
        if self.chance("role_variable", 0.8) or "condition_on_role_variable" in self.wanted:
            body.append(Let("w0", Op("//", Name("tx"), Int(32))))
        accumulators = [name for name in ("f0", "f1", "c0") if self.tile(name)]
        first = self.marked([Fill(name, self.rng.choice((0, 0, 1))) for name in accumulators], _Here())
        jumps = ("return",) if "return" in self.wanted else ()
        here = _Here(jumps=jumps, ready=frozenset(accumulators), readable=tuple(uniform), writable=tuple(uniform))
        body += first
        if self.launch.cluster > 1:
            body.append(Sync())
        body += self.body(here, self.rng.choice((1, 2, 2, 3)))
        body += self.marked([self.save(name) for name in accumulators if self.rng.random() < 0.8], here)
        threads = dataclasses.replace(here, together=False, writable=tuple(own), readable=(*uniform, *own))
        if self.chance("return_of_threads", 0.7):
            body.append(If(self.thread_condition(threads), (*self.some_instants(threads), Return())))
        body += self.body(threads, self.rng.choice((0, 1, 2)))
        # F is read by the kernel itself, so that a payload that reads it brings no parameter with it.
        value = Op("+", Name(self.rng.choice((*uniform, *own))), Flag(Name("bx")))
        body += self.marked([Store(f"R{self.number}", 0, value)], threads)
        return tuple(body)

    def persistent(self) -> Body:
        """A launch's body whose CTAs compute several tiles, one after the other."""
        accumulators = [name for name in ("f0", "f1", "c0") if self.tile(name)]
        var = self.new("k")
        extent = self.extent(_Here(), "serial")
        here = _Here(indices=((var, 3),), depth=1, ready=frozenset(accumulators), macros=False)
        body = self.marked([Fill(name, 0) for name in accumulators], here)
        pipeline, _ = self.pipeline(here)
        body += self.marked(pipeline, here)
        body += self.marked([self.save(name) for name in accumulators], here)
        return (
            *self.marked([For("serial", var, extent, tuple(body))], _Here()),
            Store(f"R{self.number}", 0, Flag(Name("bx"))),
        )

    def save(self, tile: str) -> Stmt:
        cta: Expr = Name("bx")
        if len(self.launch.grid) > 1:
            cta = Op("+", Op("*", Name("by"), Int(self.launch.grid[0])), Name("bx"))
        if tile == "c0":
            return Save(tile, f"C{self.number}", Op("*", cta, Int(64)))
        slot, self.saved = self.saved, self.saved + 1
        row = Op("*", Op("+", Op("*", cta, Int(SLOTS)), Int(slot)), Int(ROWS))
        return Save(tile, f"B{self.number}", row)

    # ---- bodies

    def body(self, here: _Here, size: int) -> list[Stmt]:
        """So many items, marked."""
        found: list[Stmt] = []
        for _ in range(size):
            self.left -= 1
            items, here = self.item(here)
            found += items
        return self.marked(found, here)

    def item(self, here: _Here) -> tuple[list[Stmt], _Here]:
        """Some statements, and what may be used behind them."""
        kinds = [self.simple] * 3
        if here.depth < 3 and self.left > 0:
            kinds += [self.branch] * 3 + [self.loop] * 3
            if here.together and not here.pipelined and self.wants("pipeline"):
                kinds += [self.pipeline] * 4
            if self.wants("while") and not here.pipelined and here.writable:
                kinds += [self.turns] * 2
        if here.jumps and here.depth:
            kinds += [self.jump] * 2
        if self.wants("macro") and here.together and here.macros and self.number == 0:
            kinds += [self.call] * 2
        return self.rng.choice(kinds)(here)

    def simple(self, here: _Here) -> tuple[list[Stmt], _Here]:
        """One statement of work, or a few that belong together."""
        choices = []
        if here.together:
            choices += ["load", "load", "load"]
            if self.wants("fill_in_loop") and here.indices:
                choices.append("fill")
            if self.tile("v0"):
                choices.append("sum")
            if self.tile("o0") and self.saved < SLOTS and not here.pipelined:
                choices.append("move")
            if self.tile("a0"):
                choices += ["product", "product"]
        if here.writable:
            choices.append("set")
        if not here.together and self.wants("store"):
            choices += ["store", "store"]
        match self.rng.choice(choices or ["nothing"]):
            case "load":
                # TileLang lets a pipelined body write a shared tile only once.
                tile = self.fresh("s") if here.pipelined else self.rng.choice([t for t in ("s0", "s1") if self.tile(t)])
                load = Load("A", self.row(here, ROWS, 12), tile)
                here = dataclasses.replace(here, ready=here.ready | {tile})
                return [load, *([Add("f0", tile)] if self.rng.random() < 0.85 else [])], here
            case "fill":
                tile = self.fresh("s") if here.pipelined else "s0"
                return [Fill(tile, self.rng.choice((0, 2))), Add("f0", tile)], here
            case "sum":
                return [Sum("f0", "v0"), Add("f1", "v0")], here
            case "move":
                return [Move("f0", "o0"), self.save("o0")], here
            case "product":
                a, b = (self.fresh("a"), self.fresh("b")) if here.pipelined else ("a0", "b0")
                loads: list[Stmt] = [Load("P", self.row(here, 64, 6), a), Load("Q", self.row(here, 16, 6), b)]
                return [*loads, Product(a, b, "c0")], here
            case "set":
                name = self.rng.choice(here.writable)
                value = self.rng.choice((Op("+", Name(name), Int(1)), Op("+", Name(name), Int(1)), self.index(here)))
                return [Set(name, value)], here
            case "store":
                slot = self.rng.randrange(1, SLOTS)
                return [
                    Store(f"R{self.number}", slot, self.rng.choice((self.index(here), *self.variables(here))))
                ], here
        return [Record(self.new("i"), self.payload(here))] if self.wants("instant") else [], here

    def variables(self, here: _Here) -> list[Expr]:
        return [Name(name) for name in here.readable]

    def row(self, here: _Here, rows: int, count: int) -> Expr:
        """The first row of some tile of a tensor."""
        at: Expr = self.index(here, small=True)
        return Op("*", at, Int(rows))

    def index(self, here: _Here, small: bool = False) -> Expr:
        """An expression of block and loop indices, not negative."""
        parts: list[Expr] = [Name(name) for name, extent in here.indices[-2:] if extent is not None or not small]
        if self.rng.random() < 0.6 or not parts:
            parts.append(Name("bx"))
        e = parts[0]
        for part in parts[1:]:
            e = Op("+", e, part) if small or self.rng.random() < 0.5 else Op("+", Op("*", e, Int(10)), part)
        return e

    # ---- control

    def branch(self, here: _Here) -> tuple[list[Stmt], _Here]:
        if self.chance("dead_branch", 0.2) and (found := self.provable(here)):
            then, other = (tuple(self.body(here.deeper(), 1)) for _ in range(2))
            return [If(self.rng.choice(found), then, other)], here
        condition, together = self.condition(here)
        inside = here.deeper(together=here.together and together, macros=here.macros)
        if not together:
            own = tuple(name for name in here.writable if name.startswith("t"))
            inside = dataclasses.replace(
                inside, writable=own, jumps=tuple(j for j in here.jumps if not here.together and j != "return")
            )
        then = self.body(inside, self.rng.choice((1, 1, 2)))
        other = None
        kinds = self.wants("if_without_else", "if_with_else") or ["if_without_else"]
        if condition not in self.provable(here) and self.rng.choice(kinds) == "if_with_else":
            other = tuple(self.body(inside, 1))
        return [If(condition, tuple(then), other)], here

    def loop(self, here: _Here) -> tuple[list[Stmt], _Here]:
        kind = self.rng.choice(self.wants("serial", "unroll") or ["serial"])
        var, extent = self.new("k"), self.extent(here, kind)
        jumps = tuple(self.wants("break", "continue")) if kind == "serial" and not here.pipelined else ()
        jumps += tuple(jump for jump in here.jumps if jump == "return")
        known = extent.value if isinstance(extent, Int) else 5
        inside = here.deeper(indices=(*here.indices, (var, known)), jumps=jumps)
        body = self.body(inside, self.rng.choice((1, 1, 2)))
        return [For(kind, var, extent, tuple(body))], here

    def pipeline(self, here: _Here) -> tuple[list[Stmt], _Here]:
        stages = self.rng.choice((2, 3, *(n for n, f in ((1, "one_stage"), (4, "four_stages")) if f in self.wanted)))
        if stages > 1 and self.chance("fewer_trips_than_stages", 0.4):
            extent: Expr = Int(self.rng.randrange(0 if "no_trip" in self.wanted else 1, stages))
        else:
            extent = self.extent(here, "pipelined")
        var = self.new("k")
        known = extent.value if isinstance(extent, Int) else 5
        # A payload may not read what the pipeline around it writes: TileLang moves operators to other iterations.
        writable = here.writable if self.chance("variable_in_pipeline", 0.7) else ()
        inside = here.deeper(
            indices=(*here.indices, (var, known)),
            pipelined=True,
            jumps=(),
            writable=writable,
            readable=tuple(name for name in here.readable if name not in writable),
            macros="macro_in_pipeline" in self.wanted,
        )
        first, inside = self.simple(dataclasses.replace(inside, writable=()))
        inside = dataclasses.replace(inside, writable=writable)
        rest = self.body(inside, self.rng.choice((0, 1, 1, 2)))
        body = self.marked([*first, *rest], inside) if self.rng.random() < 0.5 else [*self.marked(first, inside), *rest]
        return [For("pipelined", var, extent, tuple(body), stages)], here

    def turns(self, here: _Here) -> tuple[list[Stmt], _Here]:
        name = self.rng.choice(here.writable)
        start: Expr = self.rng.choice((Int(2), Int(3), Flag(Name("bx"))))
        others = tuple(other for other in here.writable if other != name)
        jumps = tuple(self.wants("break", "continue")) + tuple(jump for jump in here.jumps if jump == "return")
        body = self.body(here.deeper(writable=others, jumps=jumps), self.rng.choice((1, 1, 2)))
        down = Set(name, Op("-", Name(name), Int(1)))
        return [Set(name, start), While(Op(">", Name(name), Int(0)), (down, *body))], here

    def jump(self, here: _Here) -> tuple[list[Stmt], _Here]:
        node = {"break": Break, "continue": Continue, "return": Return}[self.rng.choice(here.jumps)]()
        condition, together = self.condition(here)
        if condition in self.provable(here) or not (together or (not here.together and not isinstance(node, Return))):
            condition = Op(">", Flag(self.index(here, small=True)), Int(2))
        return [If(condition, (*self.some_instants(here), node))], here

    def call(self, here: _Here) -> tuple[list[Stmt], _Here]:
        if not self.macros or (len(self.macros) < 2 and self.rng.random() < 0.3):
            inside = _Here(indices=(("p", 4),), pipelined=True, depth=3, macros=False)
            tile = self.fresh("s")
            load: list[Stmt] = [Load("A", Op("*", Name("p"), Int(ROWS)), tile), Add("f0", tile)]
            self.macros.append(Macro(self.new("m"), ("p",), tuple(self.marked(load, inside))))
        macro = self.rng.choice(self.macros)
        return [Call(macro.name, (self.index(here, small=True),))], here

    def extent(self, here: _Here, kind: str) -> Expr:
        special = self.wants("no_trip", "one_trip", "run_time_trips")
        if kind == "pipelined" and self.chance("run_time_pipeline", 0.4):
            special = ["run_time_trips"]
        if kind == "unroll":
            special = [name for name in special if name != "run_time_trips"]
        if special and self.rng.random() < 0.4:
            match self.rng.choice(special):
                case "no_trip":
                    return Int(0)
                case "one_trip":
                    return Int(1)
                case "run_time_trips":
                    return Flag(Op("+", Name("bx"), Int(self.rng.randrange(8))))
        return Int(self.rng.choice((2, 3, 4)))

    # ---- conditions

    def provable(self, here: _Here) -> list[Expr]:
        """Conditions that always hold, in a fixed order."""
        found: set[Expr] = set()
        for name, extent in zip(BLOCKS, self.launch.grid, strict=False):
            if not (self.launch.dynamic and name == "bx"):
                found |= bounds(Name(name), extent)
        for name, known in here.indices:
            if known is not None and name != "p":
                found |= bounds(Name(name), known)
        return sorted(found, key=repr)

    def condition(self, here: _Here) -> tuple[Expr, bool]:
        """A condition, and whether all threads of the CTA agree on it."""
        kinds = self.wants("condition_on_data", "condition_on_block", "condition_on_variable")
        if here.indices:
            kinds += self.wants("peeled_guard") * 2
        kinds += self.wants("provable_guard", "guard_in_range", "guard_in_branch")
        if not here.together or (not here.pipelined and self.rng.random() < 0.3):
            kinds += self.wants("condition_on_thread", "condition_on_role_variable") * 2
        match self.rng.choice(kinds or ["condition_on_data"]):
            case "condition_on_block":
                return self.rng.choice((Op("==", Name("bx"), Int(0)), Op(">", Name("bx"), Int(0)))), True
            case "condition_on_variable" if here.readable:
                name = self.rng.choice(here.readable)
                return Op(">", Name(name), Int(self.rng.choice((0, 1, 2)))), name.startswith("u")
            case "peeled_guard":
                name, _ = here.indices[-1]
                return Op(self.rng.choice(("<", ">", ">=")), Name(name), Int(self.rng.choice((1, 2)))), True
            case "provable_guard" | "guard_in_range" | "guard_in_branch":
                if found := self.provable(here):
                    return self.rng.choice(found), True
            case "condition_on_thread" | "condition_on_role_variable":
                return self.thread_condition(here), False
        at: Expr = Name("bx")
        if here.indices and self.rng.random() < 0.6:
            at = Op("+", at, Name(here.indices[-1][0]))
        return Op(">", Flag(at), Int(self.rng.choice((0, 1, 1, 2)))), True

    def thread_condition(self, here: _Here) -> Expr:
        tx = Name("tx")
        choices: list[Expr] = [
            Op("<", tx, Int(32)),
            Op(">=", tx, Int(32)),
            Op("==", tx, Int(5)),
            Op("==", Op("//", tx, Int(32)), Int(1)),
        ]
        if "condition_on_role_variable" in self.wanted:
            choices += [Op("==", Name("w0"), Int(1)), Op(">", Name("w0"), Int(0))] * 3
        return self.rng.choice(choices)

    # ---- markers

    def payload(self, here: _Here) -> Expr | None:
        choices: list[Expr | None] = [self.index(here), self.index(here), Name("bx")]
        if here.indices:
            choices += [Name(here.indices[-1][0])] * 3
        if "payload_of_variable" in self.wanted:
            choices += self.variables(here) * 2
        if "payload_of_data" in self.wanted:
            choices.append(Flag(Name("bx")))
        if "payload_of_thread" in self.wanted:
            choices.append(Name("tx"))
        if "payload_bool" in self.wanted:
            choices.append(Op(">", self.index(here), Int(1)))
        if "no_payload" in self.wanted:
            choices.append(None)
        return self.rng.choice(choices)

    def some_instants(self, here: _Here) -> list[Stmt]:
        return [Record(self.new("i"), self.payload(here))] if self.chance("instant", 0.5) else []

    def marked(self, statements: list[Stmt], here: _Here) -> list[Stmt]:
        """Statements of one body with markers among and around them."""
        found = list(statements)
        if not found:
            return self.some_instants(here)
        if self.rng.random() < 0.6:
            found = self.in_range(found, here)
        if self.chance("nested_ranges", 0.4):
            found = self.in_range(found, here)
        if self.chance("start_and_end", 0.4):
            found = self.with_tokens(found, here)
        if self.chance("instant", 0.3):
            last = len(found) - isinstance(found[-1], (Break, Continue, Return))
            found.insert(self.rng.randint(0, last), Record(self.new("i"), self.payload(here)))
        per = self.wants("lead", "per_warp")
        if per and self.rng.random() < 0.25:
            kind = "group" if self.rng.choice(per) == "lead" else "warp"
            lead = self.rng.choice((5, 32, 37)) if kind == "group" else self.rng.choice((0, 3))
            found = [Group(self.new("g"), lead, kind, tuple(found))]
        return found

    def in_range(self, found: list[Stmt], here: _Here) -> list[Stmt]:
        """Some neighbours in a range."""
        first = self.rng.randrange(len(found))
        last = self.rng.randrange(first, len(found)) + 1
        inside = found[first:last]
        if any(map(_leaves, inside)) and "jump_out_of_range" not in self.wanted:
            return found
        lane = "side" if self.rng.random() < 0.15 else "main"
        return [*found[:first], Range(self.new("r"), self.payload(here), tuple(inside), lane), *found[last:]]

    def with_tokens(self, found: list[Stmt], here: _Here) -> list[Stmt]:
        """One range of explicit tokens, or two that cross, around statements that no jump leaves."""
        if any(map(_leaves, found)):
            return found
        tokens = [self.new("x") for _ in range(self.rng.choice((1, 2)))]
        places = sorted(self.rng.randint(0, len(found)) for _ in range(2 * len(tokens)))
        order: list[Stmt] = [Start(token, self.payload(here)) for token in tokens]
        order += [End(token) for token in tokens]
        for place, marker in reversed(list(zip(places, order, strict=True))):
            found.insert(place, marker)
        return found


def _leaves(statement: Stmt, loops: int = 0) -> bool:
    """Whether a jump in a statement leaves it."""
    if isinstance(statement, Return) or (isinstance(statement, (Break, Continue)) and not loops):
        return True
    inner = loops + isinstance(statement, (For, While))
    return any(_leaves(s, inner) for body in bodies(statement) for s in body)
