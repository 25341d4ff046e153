"""A kernel's nodes as the Python source that an author would write, and the PrimFunc that TileLang makes of it.

The text goes to a file, for TileLang reads a kernel's source with ``inspect``. With ``marked=False`` no marker is
written. ``Source.lines`` says on which line a statement stands; it is keyed by the identity of the node, as equal
statements may stand in several places.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    Variable,
    While,
    names,
    walk,
)

_HEAD = """import tilelang.language as T

from tltrace_nb import trace


def build():
"""


@dataclass(frozen=True)
class Source:
    """The text of a kernel; ``lines`` keeps the line of each statement by ``id(node)``, alive as long as ``kernel``."""

    kernel: Kernel
    text: str
    lines: dict[int, int]

    def build(self) -> Any:
        """The PrimFunc, from a file of its own."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / "tltrace_generated"
        folder.mkdir(exist_ok=True)
        file = folder / f"{self.kernel.name}_{digest}.py"
        if not file.exists():
            partial = file.with_suffix(f".{id(self)}.part")
            partial.write_text(self.text)
            partial.replace(file)
        spec = importlib.util.spec_from_file_location(f"generated_{digest}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.build()


def render(kernel: Kernel, marked: bool = True) -> Source:
    """The kernel's source."""
    writer = _Writer(kernel, marked)
    writer.kernel_text()
    return Source(kernel, "".join(writer.out), writer.lines)


def expression(e: Expr) -> str:
    """An expression as Python."""
    match e:
        case Int(value):
            return str(value)
        case Name(name):
            return name
        case Flag(index):
            return f"F[{expression(index)}]"
        case Op("and" | "or" as op, a, b):
            return f"T.{op.capitalize()}({expression(a)}, {expression(b)})"
        case Op(op, a, b):
            return f"{_operand(a)} {op} {_operand(b)}"


def _operand(e: Expr) -> str:
    text = expression(e)
    return f"({text})" if isinstance(e, Op) and e.op not in ("and", "or") else text


@dataclass
class _Writer:
    kernel: Kernel
    marked: bool
    out: list[str] = field(default_factory=lambda: [_HEAD])
    lines: dict[int, int] = field(default_factory=dict)
    line: int = _HEAD.count("\n") + 1

    def put(self, depth: int, text: str) -> None:
        self.out.append("    " * depth + text + "\n")
        self.line += 1

    def kernel_text(self) -> None:
        if any(tensor.dynamic for tensor in self.kernel.tensors):
            self.put(1, 'n = T.dynamic("n")')
        for macro in self.kernel.macros:
            self.put(1, "@T.macro")
            self.put(1, f"def {macro.name}({', '.join((*macro.parameters, *self.handed(macro)))}):")
            self.body(macro.body, 2, self.kernel.launches[0])
        self.put(1, "@T.prim_func")
        self.put(1, f"def {self.kernel.name}(")
        for tensor in self.kernel.tensors:
            self.put(2, f"{tensor.name}: {_tensor_type(tensor)},")
        self.put(1, "):")
        for launch in self.kernel.launches:
            self.launch(launch)
        self.put(1, f"return {self.kernel.name}")

    def handed(self, macro: Macro) -> list[str]:
        """What a macro needs beside its parameters; it does not see the names of the kernel that calls it."""
        used: set[str] = set()
        for statement, _ in walk(macro.body):
            for field_ in dataclasses.fields(statement):
                value = getattr(statement, field_.name)
                used |= {value} if isinstance(value, str) else set() if isinstance(value, tuple) else names(value)
        launch = self.kernel.launches[0]
        there = [*(tensor.name for tensor in self.kernel.tensors), *(tile.name for tile in launch.tiles), "tx"]
        return [name for name in (*there, *BLOCKS) if name in used]

    def launch(self, launch: Launch) -> None:
        grid = [str(extent) for extent in launch.grid]
        if launch.dynamic:
            grid[0] = f"T.ceildiv(n, {ROWS})"
        kind, cluster = "Kernel", ""
        if launch.cluster > 1:
            kind, cluster = "ClusterKernel", f", cluster_dims={launch.cluster}"
        blocks = BLOCKS[: len(grid)]
        block = blocks[0] if len(grid) == 1 else f"({', '.join(blocks)})"
        self.put(2, f"with T.{kind}({', '.join(grid)}{cluster}, threads={launch.threads}) as {block}:")
        self.put(3, "tx = T.get_thread_binding()")
        if launch.swizzle:
            self.put(3, f'T.use_swizzle(panel_size={launch.swizzle[0]}, order="{launch.swizzle[1]}")')
        for tile in launch.tiles:
            self.put(3, f"{tile.name} = T.alloc_{tile.scope}({tile.shape!r}, {tile.dtype!r})")
        self.body(launch.body, 3, launch)

    def body(self, body: Body, depth: int, launch: Launch) -> None:
        start = len(self.out)
        for statement in body:
            self.lines[id(statement)] = self.line
            self.statement(statement, depth, launch)
        if len(self.out) == start:
            self.put(depth, "pass")

    def statement(self, s: Stmt, depth: int, launch: Launch) -> None:
        match s:
            case If():
                self.put(depth, f"if {expression(s.condition)}:")
                self.body(s.then, depth + 1, launch)
                if s.other is not None:
                    self.put(depth, "else:")
                    self.body(s.other, depth + 1, launch)
            case For():
                kind = {"serial": "serial", "unroll": "unroll", "pipelined": "Pipelined"}[s.kind]
                stages = f", num_stages={s.stages}" if s.kind == "pipelined" else ""
                self.put(depth, f"for {s.var} in T.{kind}({expression(s.extent)}{stages}):")
                self.body(s.body, depth + 1, launch)
            case While():
                self.put(depth, f"while {expression(s.condition)}:")
                self.body(s.body, depth + 1, launch)
            case Range() | Group():
                if not self.marked:
                    for inner in s.body:
                        self.lines[id(inner)] = self.line
                        self.statement(inner, depth, launch)
                    return
                self.put(depth, _with(s))
                self.body(s.body, depth + 1, launch)
            case Start() | End() | Record():
                if self.marked:
                    self.put(depth, _marker(s))
            case _:
                for line in self.work(s, launch):
                    self.put(depth, line)

    def work(self, s: Stmt, launch: Launch) -> list[str]:
        match s:
            case Break():
                return ["break"]
            case Continue():
                return ["continue"]
            case Return():
                return ["T.thread_return()"]
            case Variable(name, init):
                return [f'{name} = T.alloc_var("int32"{"" if init is None else f", init={init}"})']
            case Set(name, value) | Let(name, value):
                return [f"{name} = {expression(value)}"]
            case Load(tensor, row, tile):
                return [f"T.copy({tensor}[{expression(row)}, 0], {tile})"]
            case Save(tile, tensor, row):
                return [f"T.copy({tile}, {tensor}[{expression(row)}, 0])"]
            case Move(source, target):
                return [f"T.copy({source}, {target})"]
            case Fill(tile, value):
                return [f"T.fill({tile}, {value})" if value else f"T.clear({tile})"]
            case Add(target, source, factor):
                shapes = {tile.name: tile.shape for tile in launch.tiles}
                axes = ("i", "j")[: len(shapes[target])]
                from_ = ", ".join(axes[: len(shapes[source])])
                to, extents = ", ".join(axes), ", ".join(map(str, shapes[target]))
                scaled = f"{source}[{from_}]" if factor == 1 else f"{source}[{from_}] * {factor}"
                return [
                    f"for {to} in T.Parallel({extents}):",
                    f"    {target}[{to}] = {target}[{to}] + {scaled}",
                ]
            case Sum(source, target):
                return [f"T.reduce_sum({source}, {target}, dim=1)"]
            case Product(a, b, target):
                return [f"T.gemm({a}, {b}, {target})"]
            case Store(tensor, slot, value):
                blocks = ", ".join(BLOCKS[: len(launch.grid)])
                return [f"{tensor}[{blocks}, {slot}, tx] = {expression(value)}"]
            case Sync():
                return ["T.cluster_sync()"]
            case Call(name, arguments):
                macro = next(macro for macro in self.kernel.macros if macro.name == name)
                return [f"{name}({', '.join((*map(expression, arguments), *self.handed(macro)))})"]
        raise TypeError(s)


def _tensor_type(tensor: Tensor) -> str:
    first = "n" if tensor.dynamic else str(tensor.shape[0])
    rest = "".join(f" {extent}," for extent in tensor.shape[1:])
    return f'T.Tensor(({first},{rest}), "{tensor.dtype}")'


def _with(s: Range | Group) -> str:
    if isinstance(s, Group):
        per = "" if s.per == "group" else f', per="{s.per}"'
        return f'with trace.group("{s.name}", lead={s.lead}{per}):'
    return f"with trace.range({_arguments(s.name, s)}):"


def _marker(s: Start | End | Record) -> str:
    match s:
        case Start():
            return f"{s.token} = trace.range_start({_arguments(s.token, s)})"
        case End():
            return f"trace.range_end({s.token})"
        case Record():
            return f"trace.record({_arguments(s.name, s)})"


def _arguments(name: str, s: Range | Start | Record) -> str:
    lane = "" if s.lane == "main" else f', lane="{s.lane}"'
    payload = "" if s.payload is None else f", payload={expression(s.payload)}"
    return f'"{name}"{lane}{payload}'
