"""A Python program, run as ``python`` runs it.

In: a script or the name of a module, and its arguments. Out: the exit code that ``python`` would have had. Its output,
its errors and their traceback are the program's own, without a line of ours.
"""

from __future__ import annotations

import contextlib
import importlib.util
import runpy
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType, TracebackType

from tltrace_nb.base.errors import TraceError

FINE, RAISED, INTERRUPTED = 0, 1, 130
"""Exit codes of Python; the last is a shell's for SIGINT."""


def run_as_main(program: str, arguments: Sequence[str], *, module: bool = False) -> int:
    """Run a script (or a folder or archive with a ``__main__.py``), or a ``module``, as ``python`` does; its exit code.

    Raises ``TraceError`` where there is no such script or module.
    """
    if not module and not Path(program).exists():
        raise TraceError(f"{program}: there is no such script")
    folder = Path.cwd() if module else _home(Path(program))
    with _seen_by_the_program([program, *arguments], str(folder)):
        try:
            if module and not _is_module(program):
                raise TraceError(f"no module named {program}")
            _execute(program, module)
            _join_threads()
        except SystemExit as stop:
            return _code(stop.code)
        except BaseException as error:
            if isinstance(error, TraceError) and error.__traceback__ is not None and not error.__traceback__.tb_next:
                raise  # that of a few lines above
            error.__traceback__ = _own(error.__traceback__)
            sys.excepthook(type(error), error, error.__traceback__)
            return INTERRUPTED if isinstance(error, KeyboardInterrupt) else RAISED
    return FINE


def _execute(program: str, module: bool) -> None:
    if module:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    elif _is_source(Path(program)):
        _run_file(program)
    else:
        runpy.run_path(program, run_name="__main__")


def _run_file(program: str) -> None:
    """As ``__main__``, whose functions threads and Python's end may still call."""
    path = str(Path(program).absolute())
    main = ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main
    code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    exec(code, main.__dict__)


def _is_module(name: str) -> bool:
    """Whether there is a module of that name; what its packages raise is the program's error."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return False
        raise


def _is_source(path: Path) -> bool:
    """Whether this is a file to compile: not a folder or an archive, nor compiled already."""
    return path.is_file() and path.suffix != ".pyc" and not zipfile.is_zipfile(path)


def _home(script: Path) -> Path:
    """What Python puts in front of the path: the script's folder, or the folder or archive itself."""
    return script.resolve().parent if _is_source(script) or script.suffix == ".pyc" else script.absolute()


@contextlib.contextmanager
def _seen_by_the_program(arguments: list[str], folder: str) -> Iterator[None]:
    """``sys.argv``, ``sys.path`` and ``__main__`` as the program expects them, and as they were behind it."""
    argv, path, main = sys.argv, sys.path[:], sys.modules["__main__"]
    sys.argv = arguments
    if not sys.flags.safe_path:
        if (own := _own_entry(argv[0])) in path:
            sys.path.remove(own)
        sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = argv, path, main


def _own_entry(started: str) -> str:
    """What Python has put in front of the path for ``tltrace``, or for ``python -m tltrace_nb.cli``."""
    path = Path(started).resolve()
    return str(Path.cwd() if path.name == "cli.py" else path.parent)


def _join_threads() -> None:
    """Wait for threads as Python does before it ends, so that what they launch is there."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _code(code: object) -> int:
    """The exit code of ``sys.exit(code)``, which prints what is no number."""
    if code is None:
        return FINE
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return RAISED


def _own(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first frame on."""
    ours = {__file__, runpy.__file__, "<frozen runpy>"}
    while traceback is not None and traceback.tb_frame.f_code.co_filename in ours:
        traceback = traceback.tb_next
    return traceback
