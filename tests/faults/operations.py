"""The file operations of the package: found in its source, and made to fail one at a time.

In: the source of ``tltrace_nb``. Out: an :class:`Operation` for each call that touches files, disks or processes, and
``failing``, within which one of them raises. Nothing of the file system is changed for that: the functions that make
the call get code that asks, before each operation, whether it is the one to fail.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import tltrace_nb

PACKAGE = Path(tltrace_nb.__file__).parent

MODULES = ("os", "shutil", "tempfile", "zipfile", "gzip", "subprocess", "linecache", "webbrowser")
"""All that they do counts, but for ``PURE``."""
PURE = {
    "os.fspath", "os.getpid", "os.getuid", "os.kill", "os.register_at_fork", "os.environ.get", "os.environ.update",
    "os.environ.pop", "os.pathsep.join", "gzip.compress",
    "gzip.decompress",
}  # fmt: skip
METHODS = {
    "open", "read_bytes", "read_text", "write_bytes", "write_text", "write", "rename", "mkdir", "unlink", "rmdir",
    "touch", "chmod", "stat", "lstat", "exists", "is_file", "is_dir", "iterdir", "glob", "rglob", "resolve", "absolute",
    "samefile", "symlink_to", "hardlink_to", "truncate", "cwd", "home", "extract", "extractall", "writestr",
    "write_array", "read", "write_table", "read_table", "read_array", "to_csv", "export_library", "tofile", "fromfile",
    "memmap", "savez", "savetxt",
}  # fmt: skip
"""Methods of paths and files, and functions of libraries that write or read files."""
FUNCTIONS = {"open", "ZipFile", "GzipFile", "Popen"}


@dataclass(frozen=True, slots=True)
class Operation:
    """A call in the package's source. ``place``: module and function; ``name``: what is called there, and which."""

    place: str
    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.place}: {self.name}{f' ({self.number + 1})' if self.number else ''}"


def found() -> list[Operation]:
    """All file operations of the package, in the order of the source."""
    operations: list[Operation] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        _Finder(path, operations).visit(ast.parse(path.read_text(encoding="utf-8")))
    return operations


class Injector:
    """Makes operations of the package fail. ``happened`` has those that were asked for in the last ``failing``."""

    def __init__(self) -> None:
        self._wanted: Operation | None = None
        self._error: BaseException | None = None
        self._too_late = False
        self.happened = 0

    @contextlib.contextmanager
    def failing(self, operation: Operation, error: BaseException, *, too_late: bool = False) -> Iterator[None]:
        """Within, an operation raises, ``too_late`` when it has been done, as a write that is cut off."""
        self._wanted, self._error, self._too_late = operation, error, too_late
        self.happened = 0
        try:
            yield
        finally:
            self._wanted = None

    @contextlib.contextmanager
    def installed(self, places: set[str]) -> Iterator[None]:
        """Within, the functions of the modules of these places ask."""
        before: list[tuple[FunctionType, CodeType]] = []
        codes: dict[tuple[str, str, int], CodeType] = {}
        modules = []
        for path in sorted(PACKAGE.rglob("*.py")):
            name = _module(path)
            if not any(place.startswith(f"{name}.") for place in places):
                continue
            module = importlib.import_module(f"tltrace_nb.{name}".removesuffix(".__init__"))
            vars(module)["__ask__"] = self._ask
            modules.append(module)
            tree = _Finder(path, [], asking=True).visit(ast.parse(path.read_text(encoding="utf-8")))
            asking = compile(ast.fix_missing_locations(tree), str(module.__file__), "exec", dont_inherit=True)
            codes |= {(str(path), *key): code for key, code in _codes(asking).items()}
        for function in gc.get_objects():
            if type(function) is FunctionType and (code := codes.get(_key(function.__code__))) is not None:
                before.append((function, function.__code__))
                function.__code__ = code
        try:
            yield
        finally:
            for function, code in before:
                function.__code__ = code
            for module in modules:
                del vars(module)["__ask__"]

    def _ask(self, place: str, name: str, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        """What the package's operations call: the function itself, or what raises in its place."""
        if self._wanted != Operation(place, name, number):
            return function

        def fails(*args: Any, **kwargs: Any) -> Any:
            self.happened += 1
            if self._too_late:
                made = function(*args, **kwargs)
                if hasattr(made, "close"):
                    made.close()
                elif name == "os.open":
                    os.close(made)
            assert self._error is not None
            of = args[0] if "." in name and args else getattr(function, "__self__", None)
            if isinstance(self._error, OSError) and isinstance(of, (str, Path)):
                self._error.filename = str(of)  # as the system does it
            raise self._error

        return fails


class _Finder(ast.NodeTransformer):
    """Lists the operations of a module or, where they are to be ``asking``, wraps them."""

    def __init__(self, path: Path, operations: list[Operation], asking: bool = False):
        self._operations, self._asking = operations, asking
        self._scope = [_module(path)]

    def _inside(self, node: Any) -> Any:
        self._scope.append(node.name)
        self.generic_visit(node)
        self._scope.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _inside

    def visit_Call(self, node: ast.Call) -> Any:
        """A call: one of the operations, or not."""
        name = _operation(node)
        self.generic_visit(node)
        if name is None:
            return node
        place = ".".join(self._scope)
        number = sum((other.place, other.name) == (place, name) for other in self._operations)
        self._operations.append(Operation(place, name, number))
        if self._asking and len(self._scope) > 1:
            ask = ast.Name("__ask__", ast.Load())
            told = [ast.Constant(place), ast.Constant(name), ast.Constant(number)]
            node.func = ast.Call(ask, [*told, node.func], [])
        return node


def _operation(node: ast.Call) -> str | None:
    """What a call is that touches the file system; ``None`` for any other."""
    text = ast.unparse(node.func)
    if isinstance(node.func, ast.Name):
        return text if text in FUNCTIONS else None
    if not isinstance(node.func, ast.Attribute):
        return None
    if re.fullmatch(rf"({'|'.join(MODULES)})(\.\w+)+", text):
        return None if text in PURE else text
    method = node.func.attr
    if method == "replace":  # of a path: other things replace something by something
        return method if len(node.args) == 1 and not node.keywords else None
    return method if method in METHODS else None


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """The code of all functions inside, by name and line."""
    found: dict[tuple[str, int], CodeType] = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= {(inner.co_qualname, inner.co_firstlineno): inner} | _codes(inner)
    return found
