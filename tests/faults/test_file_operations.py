"""For each file operation of the package: what the user has when it fails.

``TABLE`` says it. An operation without a row fails the first test, so that whoever adds one decides.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from caching import Build, Compiler
from operations import Injector, Operation, found
from recordings import RECORDED

from tltrace_nb import cli, datasets, demo, distributed, load, trace
from tltrace_nb.core.compile import cache, device, entries
from tltrace_nb.core.compile.ir import shown_source
from tltrace_nb.core.profile import Profile
from tltrace_nb.core.runtime import environment, ping_pong
from tltrace_nb.core.trace import Trace, TraceFileError
from tltrace_nb.course import grading
from tltrace_nb.data import kineto
from tltrace_nb.data.sites import TABLE_ATTRIBUTE
from tltrace_nb.data.slots import HEADER
from tltrace_nb.distributed.gathered import Rank, merge
from tltrace_nb.processes import Run, Traced
from tltrace_nb.simulator.device_functions import HostError, on_host
from tltrace_nb.widget import html

# What the user then has.
PROFILES = Path(__file__).parents[1] / "recorded" / "profiles"

AS_IT_WAS = "OSError with the name that was given; what stood there is as it was, and nothing lies beside it"
THE_FILE = "the file, whole"
THE_NAME = "an error that names the file"
A_REASON = "an error that says why"
THE_KERNEL = "the kernel; it is built again until it can be kept"
A_LINE = "the outputs, and a line that says what could not be written, and why"
THE_REST = "the program's exit code, and all that could be written and told"
EXIT_1 = "exit code 1 and one line on stderr, as for any error of the command line"
AS_PYTHON = "exit code 1 and the error on stderr, as python has it for a script that cannot be read"
THE_OTHERS = "the other ranks' traces, and which rank's is missing, and why"
ON_THAT_RANK = "the error on that rank; rank 0 goes on without it"
NO_MATTER = "the result, without what could not be found out"

ERRORS = {
    "no space": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "no permission": lambda: OSError(errno.EACCES, os.strerror(errno.EACCES)),
    "read-only": lambda: OSError(errno.EROFS, os.strerror(errno.EROFS)),
    "interrupted": lambda: OSError(errno.EINTR, os.strerror(errno.EINTR)),
    "Ctrl-C": KeyboardInterrupt,
}
TOO_LATE = {
    "os.open", "os.write", "open", "write", "writestr", "write_array", "write_table", "to_csv", "export_library",
    "zipfile.ZipFile", "gzip.GzipFile", "mkdir", "touch",
}  # fmt: skip
"""Operations that also fail when they have begun to write, as on a disk that becomes full."""


@dataclass
class Case:
    """One operation that fails with one error."""

    operation: Operation
    error: BaseException
    too_late: bool
    injector: Injector
    folder: Path
    patch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]
    raised: BaseException | None = None
    out: str = ""
    err: str = ""
    said: list[str] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        """Whether it is Ctrl-C: then that is what comes out of everything, but for the command line."""
        return isinstance(self.error, KeyboardInterrupt)

    def act(self, action: Callable[[], Any]) -> Any:
        """What an action returns while the operation fails; ``raised`` is what it raises, ``err`` what it says."""
        self.capture.readouterr()
        result = None
        with self.injector.failing(self.operation, self.error, too_late=self.too_late):
            try:
                result = action()
            except BaseException as error:
                self.raised = error
        assert self.injector.happened, "the scenario does not come to the operation"
        self.out, self.err = self.capture.readouterr()
        if self.interrupted and not isinstance(result, int):
            assert isinstance(self.raised, KeyboardInterrupt)
        return result


Scenario = Callable[[Case], None]


# ---- scenarios: what a user does, and what is looked at afterwards


def recorded() -> Trace:
    return load(RECORDED / "add.tltrace")


def traced_profile() -> Profile:
    return Profile(PROFILES / "often.json.gz", (load(PROFILES / "often-00-rms_norm.tltrace"),))


def writing(write: Callable[[Trace, Path], Any], name: str, *, fails: bool = True) -> Scenario:
    """A file is written over another one."""

    def scenario(case: Case) -> None:
        path, shown = case.folder / name, recorded()
        path.write_text("before")
        case.act(lambda: write(shown, path))
        if fails:
            assert isinstance(case.raised, type(case.error))
            assert case.interrupted or str(path) in str(case.raised)
            assert path.read_text() == "before"
        else:
            assert case.interrupted or case.raised is None
            assert path.stat().st_size > len("before")
        assert [each.name for each in case.folder.iterdir()] == [name]

    return scenario


save = writing(Trace.save, "t.tltrace")
save_all_the_same = writing(Trace.save, "t.tltrace", fails=False)
page = writing(Trace.to_html, "t.html")
svg = writing(Trace.to_svg, "t.svg")
png = writing(Trace.to_png, "t.png")
perfetto = writing(Trace.to_perfetto, "t.pftrace")
within = writing(lambda _, path: traced_profile().to_perfetto(path), "t.pftrace")
packed = writing(Trace.to_perfetto, "t.pftrace.gz")
chrome = writing(Trace.to_chrome, "t.json")
parquet = writing(Trace.to_parquet, "t.parquet")
graded = writing(lambda _, path: grading.write_csv({"a.ipynb": []}, Path(path)), "grades.csv")


def profile(case: Case) -> None:
    """The file of a profile is read."""
    path = PROFILES / "plain.json.gz"
    case.act(lambda: kineto.recording("prof", path))
    if not case.interrupted:
        assert isinstance(case.raised, kineto.ProfileError)
        assert str(case.error.strerror) in str(case.raised)  # type: ignore[attr-defined]
        assert str(path) in str(case.raised)


def profile_of_this_process(case: Case) -> None:
    """A profile is read that torch has just recorded."""
    import torch

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        torch.ones(1)
    case.act(lambda: kineto.recording("prof", prof))
    assert isinstance(case.raised, type(case.error))


def read_lazily(case: Case) -> None:
    read(case, lambda path: load(path, lazily=True).ctas)


def read(case: Case, look: Callable[[Path], Any] = lambda path: load(path).events) -> None:
    path = RECORDED / "add.tltrace"
    case.act(lambda: look(path))
    if not case.interrupted:
        assert isinstance(case.raised, (OSError, TraceFileError))
        assert str(case.error.strerror) in str(case.raised)  # type: ignore[attr-defined]
        assert str(path) in str(case.raised)


def kernel(case: Case, prepare: Callable[[Compiler], None] = lambda _: None) -> None:
    """A kernel is built that the cache may have."""
    case.patch.setenv("TLTRACE_CACHE_DIR", str(case.folder))
    case.patch.delenv("TILELANG_DISABLE_CACHE", raising=False)
    compiler = Compiler()
    prepare(compiler)
    built = case.act(lambda: cache.cached(Build(), compiler).kernel)  # type: ignore[arg-type]
    assert case.interrupted or (built is not None and case.raised is None)
    cache.cached(Build(), compiler)  # type: ignore[arg-type]
    assert cache.cached(Build(), compiler).kernel == "loaded"  # type: ignore[arg-type]


def kernel_in_no_home(case: Case) -> None:
    case.patch.delenv("TLTRACE_CACHE_DIR", raising=False)
    case.patch.delenv("TILELANG_DISABLE_CACHE", raising=False)
    built = case.act(lambda: cache.cached(Build(), Compiler()).kernel)  # type: ignore[arg-type]
    assert case.interrupted or built is not None


def kernel_in_a_folder_of_all(case: Case) -> None:
    def prepare(_: Compiler) -> None:
        entries.cache_dir().mkdir()
        entries.cache_dir().chmod(0o777)

    kernel(case, prepare)


def kernel_kept_before(case: Case) -> None:
    kernel(case, lambda compiler: cache.cached(Build(), compiler))  # type: ignore[arg-type, return-value]


def kernel_damaged(case: Case) -> None:
    def prepare(compiler: Compiler) -> None:
        cache.cached(Build(), compiler)  # type: ignore[arg-type]
        (entries.cache_dir() / "a1" / "kernel.so").write_text("cut")

    kernel(case, prepare)


def kernel_replaced_by_a_file(case: Case) -> None:
    def prepare(_: Compiler) -> None:
        entries.cache_dir().mkdir(mode=0o700)
        (entries.cache_dir() / "a1").write_text("in the way")

    kernel(case, prepare)


def kernel_in_a_full_cache(case: Case) -> None:
    def prepare(compiler: Compiler) -> None:
        case.patch.setenv("TLTRACE_CACHE_MIB", "0")
        cache.cached(Build("b2"), compiler)  # type: ignore[arg-type]
        left = entries.cache_dir() / ".new-of-a-process-that-died"
        left.mkdir()
        os.utime(left, (0, 0))

    kernel(case, prepare)


def compiled() -> Any:
    """A traced kernel, as far as ``trace.run`` looks at it."""
    shown = recorded()
    slots = shown.slots.copy()
    slots.view("<u2")[..., HEADER.fields["tag"][1] // 2] = shown.table.tag  # type: ignore[index]
    kernel = lambda: ["output", slots]  # noqa: E731
    kernel.prim_func = SimpleNamespace(attrs={TABLE_ATTRIBUTE: shown.table.to_json(), "global_symbol": "add"})  # type: ignore[attr-defined]
    return kernel


def dump(case: Case) -> None:
    """A kernel is run with tracing on, which dumps its timeline."""
    with trace.tracing(output=str(case.folder / "debug")):
        output = case.act(lambda: trace.run(compiled(), (), stem="add"))
    if case.interrupted:
        return
    assert output == "output"
    assert f"[tltrace] could not write the timeline: [Errno {case.error.errno}]" in case.out  # type: ignore[attr-defined]
    with trace.tracing(output=str(case.folder / "debug")):
        assert Path(trace.dump(recorded(), None, stem="add") + ".html").exists()


def dump_that_fails(case: Case) -> None:
    """Its page cannot be written; then the name that was taken cannot be given back."""

    def full(*_: Any, **__: Any) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    case.patch.setattr(html, "write_html", full)
    with trace.tracing(output=str(case.folder / "debug")):
        output = case.act(lambda: trace.run(compiled(), (), stem="add"))
    assert case.interrupted or (output == "output" and "could not write the timeline: [Errno 28]" in case.out)
    assert len(load(case.folder / "debug" / "add.tltrace").events)


SCRIPT = f"""
from tltrace_nb import load, trace
trace.captured(load({str(RECORDED / "add.tltrace")!r}))
print("done")
raise SystemExit(7)
"""


def run(case: Case) -> None:
    """``tltrace run`` of a script whose launch is traced."""
    case.patch.chdir(case.folder)
    (case.folder / "script.py").write_text(SCRIPT)
    code = case.act(lambda: cli.main(["run", "--device", "virtual", "script.py"]))
    if case.interrupted:
        assert code == cli.INTERRUPTED
        return
    assert code == 7
    assert case.out == "done\n"
    assert load("debug/script.tltrace").meta.kernel == recorded().meta.kernel


def run_without_a_journal(case: Case) -> None:
    run(case)
    assert "Error" not in case.err


def run_with_a_lost_journal(case: Case) -> None:
    run(case)
    assert case.interrupted or "what other processes wrote could not be read" in case.err


def run_where_nothing_can_be_written(case: Case) -> None:
    """Trace and page of ``tltrace run``."""
    case.patch.chdir(case.folder)
    (case.folder / "script.py").write_text(SCRIPT)
    code = case.act(lambda: cli.main(["run", "--device", "virtual", "script.py"]))
    assert code == (cli.INTERRUPTED if case.interrupted else 7)
    assert case.interrupted or ("could not write" in case.err and "Traceback" not in case.err)


def run_of_nothing(case: Case) -> None:
    case.patch.chdir(case.folder)
    (case.folder / "script.py").write_text(SCRIPT)
    code = case.act(lambda: cli.main(["run", "script.py"]))
    assert code == (cli.INTERRUPTED if case.interrupted else 1)
    assert case.interrupted or "done" not in case.out
    assert case.interrupted or str(case.error.strerror) in case.err  # type: ignore[attr-defined]


def run_of_a_module(case: Case) -> None:
    case.patch.chdir(case.folder)
    code = case.act(lambda: cli.main(["run", "-m", "none_such"]))
    assert code == (cli.INTERRUPTED if case.interrupted else 1)
    assert case.interrupted or case.err.splitlines()[0].startswith("tltrace: ")


def run_by_module(case: Case) -> None:
    """``python -m tltrace_nb.cli run``, which is told by the name of its file."""
    case.patch.setattr(sys, "argv", [str(Path(cli.__file__))])
    run_of_nothing(case)


def child(case: Case) -> None:
    """A process that a traced program started writes what it captured, and cannot tell of it."""
    traced = Traced(Run(str(case.folder), "child", journal=str(case.folder / "journal")))
    with trace.tracing(output=str(case.folder)):
        trace.captured(recorded())
        case.act(traced.write)
    assert case.interrupted or case.raised is None
    assert len(list(case.folder.glob("child-*.tltrace"))) == 1


def convert(case: Case) -> None:
    """A pipe that is closed, and no ``/dev/null`` to lead the rest to."""

    def closed(_: Any) -> None:
        raise BrokenPipeError

    case.patch.setattr(cli, "_summary", closed)
    case.patch.setattr(sys, "stdout", (case.folder / "out").open("w"))
    code = case.act(lambda: cli.main(["summary", "t.tltrace"]))
    sys.stdout.close()
    assert case.interrupted or code == 0


def shows(case: Case, *arguments: str) -> None:
    """A command of ``tltrace``."""
    code = case.act(lambda: cli.main([*arguments]))
    assert code == (cli.INTERRUPTED if case.interrupted else cli.FAILED)
    if not case.interrupted:
        (line,) = case.err.splitlines()
        assert line.startswith("tltrace: ")
        assert str(case.error.strerror) in line  # type: ignore[attr-defined]


def open_in_the_browser(case: Case) -> None:
    case.patch.setattr(webbrowser, "open", lambda _: True)
    case.patch.setenv("TMPDIR", str(case.folder))
    case.patch.setattr("tempfile.tempdir", None)
    shows(case, "open", str(RECORDED / "add.tltrace"))


def open_what_cannot_be_written(case: Case) -> None:
    def full(*_: Any, **__: Any) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    case.patch.setattr(html, "write_html", full)
    case.patch.setenv("TMPDIR", str(case.folder))
    case.patch.setattr("tempfile.tempdir", None)
    shows(case, "open", str(RECORDED / "add.tltrace"))


def compare(case: Case) -> None:
    (case.folder / "a.tltrace").write_bytes((RECORDED / "add.tltrace").read_bytes())
    shows(case, "compare", str(case.folder), str(RECORDED / "add.tltrace"))


def grade(case: Case) -> None:
    """Hand in a lesson without a cell, as itself."""
    notebook = case.folder / "lesson.ipynb"
    notebook.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}', encoding="utf-8")
    shows(case, "grade", str(notebook), str(notebook))


def recorded_demo(case: Case) -> None:
    """The demo of a recorded trace."""
    code = case.act(lambda: demo.main(["--trace", "add", "--output", str(case.folder)], RECORDED))
    assert case.interrupted or (code == 1 and "The demo could not be finished" in case.err)


def dataset_names(case: Case) -> None:
    case.act(datasets.names)
    assert isinstance(case.raised, type(case.error))


def gathered(case: Case) -> None:
    """The traces of all ranks are saved."""
    shown = merge({0: recorded()}, [Rank(0, 1, 0, 0.0)])
    case.act(lambda: shown.save(case.folder / "out"))
    assert isinstance(case.raised, type(case.error))


CLOCK = distributed.Clock(time.monotonic_ns, 0, 0.0)


class OneRank:
    """A process group of two ranks, this one being 0, and the other one's answers."""

    rank, world, host = 0, 2, "here"

    def __init__(self, case: Case):
        import torch.distributed as dist

        self._sent = iter([b"0", json.dumps(asdict(Rank(1))).encode(), (RECORDED / "add.tltrace").read_bytes()])
        case.patch.setattr(dist, "is_initialized", lambda: True)
        case.patch.setattr(dist, "get_rank", lambda: 0)
        case.patch.setattr(dist, "get_world_size", lambda: 2)
        case.patch.setattr(distributed, "Line", lambda _: self)
        case.patch.setattr(distributed, "compare", lambda *_, **__: (None, ""))

    def arrive(self) -> None:
        """Nobody waits."""

    def expect(self, _: int, *, patiently: bool = False) -> str:
        """It is there."""
        return self.host

    def first(self) -> int:
        """The first of its host is this one."""
        return 0

    def send(self, content: bytes, _: int) -> None:
        """It is taken."""

    def receive(self, _: int) -> bytes:
        """The first of the other's host, what is known of it, and its trace."""
        return next(self._sent)


def gather_into_a_folder(case: Case) -> None:
    OneRank(case)
    case.act(lambda: distributed.gather(recorded(), clock=CLOCK, folder=case.folder / "out"))
    assert isinstance(case.raised, type(case.error))


def gather(case: Case) -> None:
    OneRank(case)
    shown = case.act(lambda: distributed.gather(recorded(), clock=CLOCK))
    if not case.interrupted:
        assert list(shown.traces) == [0]
        assert "its trace could not be unpacked here" in shown.ranks.trouble[1]


def answer(case: Case) -> None:
    line: Any = OneRank(case)
    line.rank = 1
    own = distributed.Own(False, lambda: None)
    case.act(lambda: distributed._answer(line, distributed._Mine(recorded(), own, distributed.Aligned(), {})))
    assert isinstance(case.raised, type(case.error))


def driver(case: Case) -> None:
    environment._driver.cache_clear()
    case.patch.setattr("shutil.which", lambda _: "/bin/nvidia-smi")
    origin = case.act(lambda: environment.describe(recorded().table, ((1, 1, 1),)))
    environment._driver.cache_clear()
    assert case.interrupted or origin.driver == ""


def no_folder(case: Case) -> None:
    shown = case.act(lambda: shown_source("/somewhere/kernel.py", 3))
    assert case.interrupted or shown == "kernel.py:3"


def ping_pong_side(case: Case) -> None:
    """The CUDA text of the package is not there."""
    case.act(lambda: ping_pong.side("ask"))
    assert isinstance(case.raised, type(case.error))


def resource(case: Case) -> None:
    """The package's own files: an installation that cannot be read."""
    html._resource("page.html")
    case.act(lambda: html._resource("page.html"))
    assert isinstance(case.raised, type(case.error))


def helper(case: Case) -> None:
    case.act(lambda: device.helper(""))
    assert isinstance(case.raised, type(case.error))


def function(case: Case) -> None:
    """A device function that was not compiled before."""
    case.patch.setenv("TLTRACE_CACHE_DIR", str(case.folder / "cache"))
    case.act(lambda: on_host("int f() { return 3; }", "f", (), "int32")(True))
    if not case.interrupted:
        assert isinstance(case.raised, (HostError, OSError))
        assert str(case.error.strerror) in str(case.raised)  # type: ignore[attr-defined]


def function_that_is_not_kept(case: Case) -> None:
    (case.folder / "cache").write_text("in the way")
    function(case)


# ---- the table

TABLE: list[tuple[str, str, Scenario, str]] = [
    ("base.files.replacing", "os.path.realpath, open, os.fsync, replace", save, AS_IT_WAS),
    ("base.files.replacing", "unlink", save_all_the_same, THE_FILE),
    ("base.files._is_no_file", "stat", save, AS_IT_WAS),
    ("data.tracefile.write_trace", "zipfile.ZipFile, writestr, open, write_array", save, AS_IT_WAS),
    ("base.files.writing", "open", svg, AS_IT_WAS),
    ("base.files.writing", "gzip.GzipFile", packed, AS_IT_WAS),
    ("widget.html.write_html", "write", page, AS_IT_WAS),
    ("export.picture.write_svg", "write", svg, AS_IT_WAS),
    ("export.picture.write_png", "write", png, AS_IT_WAS),
    ("export.perfetto.write_perfetto", "write", perfetto, AS_IT_WAS),
    ("export.perfetto_profile.write_profile", "write", within, AS_IT_WAS),
    ("data.kineto.recording", "read_bytes", profile, THE_NAME),
    ("data.kineto._exported", "tempfile.TemporaryDirectory, read_bytes", profile_of_this_process, THE_NAME),
    ("course.grading.write_csv", "write", graded, AS_IT_WAS),
    ("export.chrome.write_chrome", "write, write (2), write (3)", chrome, AS_IT_WAS),
    ("export.parquet.write_parquet", "write_table", parquet, AS_IT_WAS),
    ("data.tracefile.read_trace", "open, zipfile.ZipFile, os.fstat, read, open (2)", read, THE_NAME),
    ("data.tracefile.described", "read", read, THE_NAME),
    ("data.file_cost.Cost.read", "read", read, THE_NAME),
    (
        "core.large._SlotsFile.__init__",
        ("open, zipfile.ZipFile, os.fstat, shutil.disk_usage, tempfile.gettempdir, open (2), tempfile.TemporaryFile, "
        "shutil.copyfileobj"),
        read_lazily,
        THE_NAME,
    ),
    ("core.large._SlotsFile.rows", "os.preadv", read_lazily, THE_NAME),
    ("core.compile.entries.cache_dir", "home", kernel_in_no_home, THE_KERNEL),
    ("core.compile.cache._keep.export", "export_library", kernel, THE_KERNEL),
    ("core.compile.entries.keep", "mkdir, stat, mkdir (2), read_bytes, rename", kernel, THE_KERNEL),
    ("core.compile.entries.keep", "shutil.rmtree", kernel, THE_KERNEL),
    ("core.compile.entries.keep", "chmod", kernel_in_a_folder_of_all, THE_KERNEL),
    ("core.compile.entries._write", "os.open, os.write, os.fchmod, os.fsync, os.close", kernel, THE_KERNEL),
    ("core.compile.entries._sync", "os.open, os.fsync, os.close", kernel, THE_KERNEL),
    ("core.compile.entries.found", "os.path.lexists, os.utime", kernel_kept_before, THE_KERNEL),
    ("core.compile.entries._checked", "read_bytes", kernel_kept_before, THE_KERNEL),
    ("core.compile.entries._check_is_ours", "os.lstat", kernel_kept_before, THE_KERNEL),
    ("core.compile.entries._discard", "rename, is_dir, shutil.rmtree", kernel_damaged, THE_KERNEL),
    ("core.compile.entries._discard", "unlink", kernel_replaced_by_a_file, THE_KERNEL),
    ("core.compile.entries._trim", "os.scandir, stat, shutil.rmtree", kernel_in_a_full_cache, THE_KERNEL),
    ("core.compile.entries._size", "stat, os.scandir", kernel_in_a_full_cache, THE_KERNEL),
    ("simulator.device_functions._program", "read_text", function, A_REASON),
    ("simulator.device_functions._compile", "subprocess.run", function, A_REASON),
    ("simulator.device_functions._aside", "tempfile.TemporaryDirectory", function_that_is_not_kept, A_REASON),
    ("core.runtime.dumps.free_base", "mkdir, exists", dump, A_LINE),
    ("core.runtime.dumps.free_base", "stat, unlink", dump_that_fails, A_LINE),
    ("core.runtime.dumps._created", "touch", run_where_nothing_can_be_written, THE_REST),
    ("processes.traced_program", "tempfile.TemporaryDirectory", run_without_a_journal, THE_REST),
    ("processes.traced_program", "resolve", run_of_nothing, EXIT_1),
    ("processes.Traced._write", "open, write", child, THE_REST),
    ("processes.Traced.children_wrote", "read_text", run_with_a_lost_journal, THE_REST),
    ("script.run_as_main", "exists", run_of_nothing, EXIT_1),
    ("script.run_as_main", "cwd", run_of_a_module, EXIT_1),
    ("script._run_file", "absolute, read_bytes", run_of_nothing, AS_PYTHON),
    ("script._is_source", "is_file, zipfile.is_zipfile", run_of_nothing, EXIT_1),
    ("script._home", "resolve", run_of_nothing, EXIT_1),
    ("script._own_entry", "resolve", run_of_nothing, EXIT_1),
    ("script._own_entry", "cwd", run_by_module, EXIT_1),
    ("cli.main", "os.open, os.dup2", convert, NO_MATTER),
    ("cli._open", "tempfile.mkdtemp, webbrowser.open", open_in_the_browser, EXIT_1),
    ("cli._open", "shutil.rmtree", open_what_cannot_be_written, EXIT_1),
    ("data.tracefile.files_at", "is_dir, glob", compare, EXIT_1),
    ("course.grading.read", "read", grade, EXIT_1),
    ("cli._grade", "cwd", grade, EXIT_1),
    ("demo.recorded_traces", "rglob", recorded_demo, EXIT_1),
    ("demo.report", "mkdir", recorded_demo, EXIT_1),
    ("datasets.__init__.names", "glob", dataset_names, THE_NAME),
    ("distributed.gathered.Gathered.save", "mkdir, to_csv", gathered, THE_NAME),
    ("distributed.__init__.gather", "mkdir", gather_into_a_folder, THE_NAME),
    ("distributed.__init__._ask", "tempfile.TemporaryDirectory, write_bytes", gather, THE_OTHERS),
    ("distributed.__init__._answer", "tempfile.TemporaryDirectory, read_bytes", answer, ON_THAT_RANK),
    ("core.runtime.environment._driver", "subprocess.run", driver, NO_MATTER),
    ("core.compile.ir.shown_source", "cwd", no_folder, NO_MATTER),
    ("core.compile.device.helper", "read_text", helper, THE_NAME),
    ("core.runtime.ping_pong.side", "read_text", ping_pong_side, THE_NAME),
    ("widget.html._resource", "read_text", resource, THE_NAME),
]  # fmt: skip
OTHERS = {
    "child.sitecustomize._hand_over: os.path.realpath": "it does not fail; Python itself goes on without this module",
    "child.sitecustomize._hand_over: os.path.realpath (2)": "as above",
    "core.large._SlotsFile.__init__: tempfile.gettempdir (2)": "it has been asked before, and remembers",
    "analysis.parts.each: os.cpu_count": "no file operation: what the machine has",
    "base.checks.file: os.fsencode": "no file operation: a name as the system takes it",
    "base.words.code_at: linecache.getline": "as the next",
    "core.compile.auto.source._calls: linecache.getlines": "it gives no lines for a file that cannot be read",
    "core.runtime.environment._driver: shutil.which": "it gives nothing for what it cannot see",
    "script._home: absolute": "of a folder or archive; it does nothing but ask for the current folder",
    "widget.front._resource: read_text": "when the package is imported: the installation cannot be read",
    "cli._convert: write": "no file operation: a Format's",
    "cli._run: write": "no file operation: a Traced's",
    "cli._run: write (2)": "no file operation: that of the module profiled, which writes by those above",
    "processes.Traced._terminated: write": "no file operation: a Traced's",
    "widget.timeline.Timeline._ipython_display_: open": "no file operation: a widget's",
    "widget.timeline.Timeline._ipython_display_: open (2)": "no file operation: a widget's",
    "distributed.comparing._by_messages: read": "no file operation: a clock's",
    "distributed.comparing._by_messages: read (2)": "as above",
    "distributed.comparing._by_messages: read (3)": "as above",
    "cli._grade: read": "no file operation: the course's, which has a row",
    "cli._grade: read (2)": "as above",
    "course.kernels.complaint: linecache.getline": "it gives no line for a file that cannot be read",
    "simulator.races.device_code.DeviceStatements._store: touch": "no file operation: of memory that is watched",
    "simulator.races.device_code.DeviceExpressions._bufferload: touch": "as above",
    "simulator.races.device_code.DeviceExpressions.reads: touch": "as above",
    "simulator.races.strands.Strand.all_reduce: touch": "as above",
    "simulator.races.strands.Strand.all_reduce: touch (2)": "as above",
}
"""Operations that cannot be made to fail, and calls that only look like operations."""


def rows() -> Iterator[tuple[Operation, Scenario, str]]:
    for place, names, scenario, has in TABLE:
        for name in names.split(", "):
            plain, _, number = name.removesuffix(")").partition(" (")
            yield Operation(place, plain, int(number or 1) - 1), scenario, has


def test_each_file_operation_of_the_package_has_a_row() -> None:
    told = [str(operation) for operation, _, _ in rows()] + list(OTHERS)
    assert sorted(map(str, found())) == sorted(told)


@pytest.fixture(scope="module")
def injector() -> Iterator[Injector]:
    made = Injector()
    with made.installed({operation.place for operation, _, _ in rows()}):
        yield made


@pytest.mark.some(150)
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(
    ("operation", "scenario"),
    [
        pytest.param(o, s, id=str(o), marks=pytest.mark.cxx if "device_functions" in str(o) else ())
        for o, s, _ in rows()
    ],
)
def test_what_the_user_has_when_a_file_operation_fails(
    operation: Operation,
    scenario: Scenario,
    error: str,
    injector: Injector,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for too_late in (False, True) if operation.name in TOO_LATE else (False,):
        folder = tmp_path / str(too_late)
        folder.mkdir()
        with monkeypatch.context() as patch:
            scenario(Case(operation, ERRORS[error](), too_late, injector, folder, patch, capsys))
