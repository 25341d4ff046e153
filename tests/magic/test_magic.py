"""The magics in a real IPython shell, with a kernel that captures hand-made traces.

Every behaviour that must be "as without the magic" is compared with the same cell run without it.
"""

import inspect
import signal
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.utils.capture import capture_output
from synthetic import Rec, build, span, table
from traitlets.config import Config

from tltrace_nb import Trace, trace
from tltrace_nb.core.compile.options import TraceOptions
from tltrace_nb.core.runtime.kept import Kept
from tltrace_nb.data.chosen import CtaRuns
from tltrace_nb.data.sites import Keep
from tltrace_nb.magic import TraceMagics, cta_ids, parse

TABLE = table(*span(0, "copy"))
UNMARKED = table()


def capture(payload: int = 0) -> Trace:
    """What a traced kernel does when it is called."""
    made = Trace(build(TABLE, [Rec(0, 0, 1100, 0, payload), Rec(0, 0, 1200, 1, payload)]), TABLE)
    trace.captured(made)
    return made


def kernel(payload: int = 0) -> int:
    """Captures a trace if it is called while the switch is on, as if it were built then."""
    if trace.enabled:
        capture(payload)
    return 42


@pytest.fixture(autouse=True)
def history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test starts with an empty history and the switch off, in a folder of its own."""
    monkeypatch.setattr(trace, "_kept", Kept())
    monkeypatch.setattr(trace, "_state", type(trace._state)())
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell like a kernel's, with the extension loaded."""
    config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    made = InteractiveShell.instance(config=config)
    made.run_cell("%load_ext tltrace_nb")
    made.user_ns.update(kernel=kernel, trace=trace)
    yield made
    InteractiveShell.clear_instance()


class Ran:
    """A cell that was run: its result, its text, and how many timelines it showed."""

    def __init__(self, shell: InteractiveShell, cell: str) -> None:
        with capture_output() as captured:
            self.result: ExecutionResult = shell.run_cell(textwrap.dedent(cell).lstrip("\n"), store_history=True)
        self.out: str = captured.stdout
        self.err: str = captured.stderr
        self.timelines = [
            each.data["text/plain"] for each in captured.outputs if "<img" in each.data.get("text/html", "")
        ]
        self.order = [each.data["text/plain"] for each in captured.outputs]


def test_a_cell_shows_the_timeline_of_its_kernel(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%%tltrace\nkernel(7)")
    assert ran.result.success
    assert len(ran.timelines) == 1
    assert ran.timelines[0].startswith("Trace of kernel")


def test_the_last_value_is_displayed_before_the_timeline_and_kept(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%%tltrace\nkernel()")
    assert ran.out.startswith("Out[1]: 42\n")
    assert ran.result.result == 42
    assert shell.user_ns["_"] == 42
    assert shell.user_ns["Out"] == {1: 42}


@pytest.mark.parametrize("body", ["kernel();", "kernel() ; # quiet", "x = kernel()", "for _i in range(2):\n    _i"])
def test_what_displays_nothing_without_the_magic_displays_nothing_with_it(shell: InteractiveShell, body: str) -> None:
    plain, magic = Ran(shell, body), Ran(shell, f"%%tltrace --no-show\n{body}")
    assert plain.out == ""
    assert "Out[" not in magic.out
    assert plain.result.result is magic.result.result is None
    assert shell.user_ns["Out"] == {}


@pytest.mark.some(6)
@pytest.mark.parametrize("interactivity", ["all", "last", "last_expr", "last_expr_or_assign", "none"])
@pytest.mark.parametrize("body", ["1\n2\nx = 3", "1\nx = 2\nx", "x = 1\nx += 1", "x: int = 5"])
def test_interactivity_is_the_shells_own(shell: InteractiveShell, interactivity: str, body: str) -> None:
    shell.ast_node_interactivity = interactivity
    plain = Ran(shell, body).out
    magic = Ran(shell, f"%%tltrace --no-show\n{body}").out
    assert magic.replace("Out[2]", "Out[1]").partition("[tltrace]")[0] == plain


def test_strings_keep_their_indentation(shell: InteractiveShell) -> None:
    shell.run_cell('%%tltrace --no-show\nx = """a\n    b\n  %%c $HOME {kernel}"""')
    assert shell.user_ns["x"] == "a\n    b\n  %%c $HOME {kernel}"


def test_a_function_of_the_cell_has_source_and_the_cells_line_numbers(shell: InteractiveShell) -> None:
    Ran(shell, "%%tltrace\nx = 1\ndef body():\n    return 7\n")
    body = shell.user_ns["body"]
    assert inspect.getsource(body) == "def body():\n    return 7\n"
    assert inspect.getsourcelines(body)[1] == 3


def test_magics_and_shell_syntax_work_inside(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%%tltrace --no-show\nx = %pwd\nkernel()")
    assert ran.result.success
    assert shell.user_ns["x"] == str(Path.cwd())


def test_other_cell_magics_nest(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%%tltrace\n%%time\nkernel()")
    assert "Wall time" in ran.out
    assert ran.result.result == 42
    assert len(ran.timelines) == 1


def test_one_entry_of_history_per_cell(shell: InteractiveShell) -> None:
    before = shell.execution_count
    shell.run_cell("%%tltrace\nkernel()", store_history=True)
    assert shell.execution_count == before + 1
    assert shell.history_manager is not None
    assert shell.history_manager.input_hist_raw[-1] == "%%tltrace\nkernel()"


# ---- errors


def test_an_error_has_its_usual_traceback_after_what_was_captured(shell: InteractiveShell) -> None:
    body = "kernel()\ndef fail():\n    return 1 / 0\nfail()"
    plain, magic = Ran(shell, "\n" + body), Ran(shell, "%%tltrace\n" + body)
    assert isinstance(magic.result.error_in_exec, ZeroDivisionError)
    assert len(magic.timelines) == 1
    assert "run_cell_magic" not in magic.out
    assert magic.out.count("Cell In[2]") == plain.out.count("Cell In[1]") == 2
    assert "----> 5 fail()" in magic.out
    assert not trace.enabled


def test_an_error_before_any_kernel_is_all_that_is_said(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%%tltrace\n1 / 0\nkernel()")
    assert "[tltrace]" not in ran.out
    assert ran.timelines == []


@pytest.mark.parametrize("body", ["a b", "return 3", "x = (", "if 1:\nx", "f'{'", "def f():\nreturn"])
def test_a_syntax_error_is_shown_as_without_the_magic(shell: InteractiveShell, body: str) -> None:
    plain, magic = Ran(shell, "pass\n" + body), Ran(shell, "%%tltrace\n" + body)
    assert magic.out.replace("Cell In[2]", "Cell In[1]") == plain.out
    assert type(magic.result.error_before_exec) is type(plain.result.error_before_exec)
    assert isinstance(magic.result.error_before_exec, SyntaxError)
    assert not magic.result.success


def test_a_syntax_error_reaches_code_that_calls_the_magic(shell: InteractiveShell) -> None:
    with pytest.raises(SyntaxError):
        shell.run_cell_magic("tltrace", "", "a b")


def test_an_error_reaches_code_that_calls_the_magic(shell: InteractiveShell) -> None:
    with pytest.raises(ZeroDivisionError):
        shell.run_cell_magic("tltrace", "--no-show", "1 / 0")


def test_an_interrupt_stops_the_cell_and_shows_what_was_captured(shell: InteractiveShell) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job is started without one
    try:
        ran = Ran(shell, "%%tltrace\nkernel()\nimport signal\nsignal.raise_signal(signal.SIGINT)\nnever = 1")
    finally:
        signal.signal(signal.SIGINT, before)
    assert isinstance(ran.result.error_in_exec, KeyboardInterrupt)
    assert len(ran.timelines) == 1
    assert "never" not in shell.user_ns
    assert not trace.enabled


def test_a_failing_view_does_not_hide_the_cells_error(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Trace) -> None:
        raise RuntimeError("no view")

    monkeypatch.setattr(Trace, "show", fail)
    ran = Ran(shell, "%%tltrace\nkernel()\n1 / 0")
    assert isinstance(ran.result.error_in_exec, ZeroDivisionError)
    assert "RuntimeError: no view" in ran.err
    assert isinstance(Ran(shell, "%%tltrace\nkernel()").result.error_in_exec, RuntimeError)


def test_an_exception_with_slots_is_shown(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%%tltrace\nclass Bare(Exception):\n    __slots__ = ()\nraise Bare('x')")
    assert "Bare: x" in ran.out


def test_await_at_the_top_level_is_refused_with_the_way(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%%tltrace\nimport asyncio\nawait asyncio.sleep(0)")
    assert "with trace.tracing():" in ran.err
    assert "asyncio" not in shell.user_ns


def test_a_real_kernel_reports_each_error_once_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    cells = ["%load_ext tltrace_nb", "%%tltrace --no-show\n'value'", "%%tltrace\n1 / 0", "%%tltrace\na b", "'never'"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    notebook.cells[2].metadata["tags"] = ["raises-exception"]
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="SyntaxError"):
        nbclient.NotebookClient(notebook, kernel_name="python3").execute()
    outputs = [[each.get("ename") or each.output_type for each in cell.outputs] for cell in notebook.cells]
    assert outputs == [[], ["execute_result", "stream"], ["ZeroDivisionError"], ["SyntaxError"], []]


# ---- the switch


def test_the_switch_is_on_inside_and_as_before_after(shell: InteractiveShell) -> None:
    Ran(shell, "%%tltrace --no-show --max-events 9 --keep last --ctas 0,5\nseen = trace.enabled, trace.options")
    assert shell.user_ns["seen"] == (True, TraceOptions(9, Keep.LAST, CtaRuns.of([0, 5])))
    assert not trace.enabled
    assert trace.options == TraceOptions()


@pytest.mark.parametrize("body", ["trace.disable()", "trace.enable('elsewhere', ctas=3)", "raise SystemExit", "1/0"])
def test_the_switch_is_restored_whatever_the_cell_does(shell: InteractiveShell, body: str) -> None:
    trace.enable("mine", max_events=8)
    with pytest.warns(UserWarning, match="To exit") if "SystemExit" in body else capture_output():
        Ran(shell, f"%%tltrace\n{body}")
    assert (trace.enabled, trace.output, trace.options.max_events, trace.options.ctas) == (True, "mine", 8, None)


def test_options_of_a_switch_that_is_on_hold_in_the_cell(shell: InteractiveShell) -> None:
    trace.enable(ctas=2, max_events=8)
    Ran(shell, "%%tltrace --no-show --max-events 9\nseen = trace.options")
    assert shell.user_ns["seen"] == TraceOptions(9, Keep.FIRST, CtaRuns.of(range(2)))


def test_options_of_a_switch_that_is_off_do_not_leak_in(shell: InteractiveShell) -> None:
    trace.enable(ctas=2)
    trace.disable()
    Ran(shell, "%%tltrace --no-show\nseen = trace.options")
    assert shell.user_ns["seen"] == TraceOptions()


# ---- what was captured


def test_one_trace_is_assigned_alone(shell: InteractiveShell) -> None:
    Ran(shell, "%%tltrace -o found\nkernel(7)")
    assert shell.user_ns["found"] is trace.last


def test_several_are_assigned_as_a_list_and_shown_in_one_timeline(shell: InteractiveShell) -> None:
    capture()
    ran = Ran(shell, "%%tltrace --keep-launches all -o found\nfor n in range(3): kernel(n)")
    assert [int(each.events.payload[0]) for each in shell.user_ns["found"]] == [0, 1, 2]
    assert ran.out == ("[tltrace] captured 3 traces, they are shown; all are in found and in trace.history[-3:]\n")
    assert len(ran.timelines) == 1


@pytest.mark.parametrize("earlier", [0, 1, 20])
@pytest.mark.parametrize(
    ("options", "stay"),
    [("", [0, 19]), ("--keep-launches last", [19]), ("--keep-launches 4", [16, 17, 18, 19])],
)
def test_of_many_launches_in_a_cell_those_of_the_policy_stay(
    shell: InteractiveShell, earlier: int, options: str, stay: list[int]
) -> None:
    for _ in range(earlier):
        capture(99)
    ran = Ran(shell, f"%%tltrace {options} -o found\nfor n in range(20): kernel(n)")
    found = shell.user_ns["found"]
    assert [int(each.events.payload[0]) for each in (found if isinstance(found, list) else [found])] == stay
    some = "that of 1 stays" if len(stay) == 1 else f"those of {len(stay)} stay"
    shown = "it is shown" if len(stay) == 1 else "they are shown"
    assert ran.out.startswith(f"[tltrace] captured 20 launches, {some} (--keep-launches chooses), {shown}")
    assert len(ran.timelines) == 1


def test_a_cell_keeps_what_the_switch_keeps_where_it_is_on(shell: InteractiveShell) -> None:
    trace.enable(keep_launches="all")
    Ran(shell, "%%tltrace -o found\nfor n in range(5): kernel(n)")
    assert len(shell.user_ns["found"]) == 5


@pytest.mark.parametrize("head", ["", "%%tltrace\n"])
def test_a_refusal_is_drawn_with_the_lines_of_the_author_only(shell: InteractiveShell, head: str) -> None:
    ran = Ran(shell, f"{head}from tltrace_nb import datasets\ndatasets.load('none')")
    assert "----> " in ran.out
    assert "datasets.load('none')" in ran.out
    assert "TraceFileError: name='none': give the name of a recorded trace" in ran.out
    assert "__init__.py" not in ran.out
    assert "run_cell_magic" not in ran.out


FAILING = """%%tltrace --device virtual
import tilelang.language as T
@trace.jit(out_idx=[-1])
def scale(N, block=128):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, block), threads=block) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + ii] * 2.0
    return main
scale(1024)"""


def test_a_typo_in_a_kernel_is_drawn_with_the_lines_of_the_author_only(shell: InteractiveShell) -> None:
    pytest.importorskip("tilelang")
    ran = Ran(shell, FAILING)
    assert "---> 11 scale(1024)" in ran.out
    assert "----> 9         B[bx * block + i] = A[bx * block + ii] * 2.0" in ran.out
    assert "NameError: name 'ii' is not defined" in ran.out
    assert "site-packages" not in ran.out
    assert "make_closure" not in ran.out + ran.err
    assert len(ran.out.splitlines()) < 25
    assert "builder.py" in Ran(shell, "%tb").out


def test_a_kernel_without_markers_is_told_how_to_get_some(shell: InteractiveShell) -> None:
    shell.user_ns["unmarked"] = lambda: trace.captured(Trace(build(UNMARKED, []), UNMARKED))
    ran = Ran(shell, "%%tltrace\nunmarked()")
    assert ran.out.startswith("[tltrace] no markers in this kernel: write trace.range around its operators, or")


def test_after_an_error_the_variable_holds_what_was_captured(shell: InteractiveShell) -> None:
    Ran(shell, "%%tltrace -o found\nkernel()\n1 / 0")
    assert shell.user_ns["found"] is trace.last


def test_nothing_captured_is_said_with_the_reason_and_clears_the_variable(shell: InteractiveShell) -> None:
    shell.user_ns["found"] = "stale"
    ran = Ran(shell, "%%tltrace -o found\nprint('ran')")
    assert ran.out.startswith("ran\n[tltrace] nothing was captured: no kernel that @trace.jit built in this cell ran.")
    assert "build it in this cell" in ran.out
    assert shell.user_ns["found"] is None


def test_a_kernel_from_before_is_named_wherever_it_is_called(shell: InteractiveShell) -> None:
    jit = pytest.importorskip("tilelang.jit")
    old = jit.JITKernel.__new__(jit.JITKernel)
    old.prim_func = SimpleNamespace(attrs={"global_symbol": "gemm"})
    old.torch_function = lambda: None
    shell.user_ns["step"] = [old]
    ran = Ran(shell, "%%tltrace\nstep[0]()")
    assert "nothing was captured: kernel gemm had been built before this cell" in ran.out
    assert "build it in the cell" in ran.out


def test_a_kernel_from_before_is_named(shell: InteractiveShell) -> None:
    jit = pytest.importorskip("tilelang.jit")
    shell.user_ns["old"] = jit.JITKernel.__new__(jit.JITKernel)
    shell.user_ns["plain"] = jit.JITImpl.__new__(jit.JITImpl)
    ran = Ran(shell, "%%tltrace\nold, plain;")
    assert "old was built before tracing was on and stays untraced: build it in this cell." in ran.out
    assert "plain is built by @tilelang.jit: use @trace.jit, which takes the same arguments, or --auto." in ran.out


def test_no_show_shows_nothing_and_says_where_the_trace_is(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%%tltrace --no-show\nkernel()\n")
    assert ran.timelines == []
    assert ran.out == "Out[1]: 42\n[tltrace] captured 1 trace; it is in trace.last\n"


def test_a_name_writes_files_and_never_over_others(shell: InteractiveShell, tmp_path: Path) -> None:
    for _ in range(2):
        ran = Ran(shell, "%%tltrace --name gemm\nkernel()")
    assert ran.out.endswith("[tltrace] wrote debug/gemm_1.html and .tltrace\n")
    assert {path.name for path in (tmp_path / "debug").iterdir()} == {
        "gemm.html", "gemm.tltrace", "gemm_1.html", "gemm_1.tltrace",
    }  # fmt: skip


# ---- one line


def test_a_line_is_run_and_its_value_displayed(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%tltrace kernel(3)")
    assert len(ran.timelines) == 1
    assert "Out[1]: 42" in ran.out


def test_a_line_gives_its_value_to_an_assignment(shell: InteractiveShell) -> None:
    Ran(shell, "y = %tltrace --no-show -o found kernel(3) + 1")
    assert shell.user_ns["y"] == 43
    assert shell.user_ns["found"] is trace.last


def test_a_line_may_be_a_statement(shell: InteractiveShell) -> None:
    Ran(shell, "%tltrace --no-show z = kernel(); z += 1")
    assert shell.user_ns["z"] == 43


def test_a_line_names_a_kernel_from_before_wherever_it_stands(shell: InteractiveShell) -> None:
    jit = pytest.importorskip("tilelang.jit")
    shell.user_ns["old"] = jit.JITKernel.__new__(jit.JITKernel)
    assert "old was built before" in Ran(shell, "%tltrace x = old").out
    assert "old was built before" in Ran(shell, "%tltrace old; 1").out


def test_a_line_sees_the_variables_of_its_function(shell: InteractiveShell) -> None:
    Ran(shell, "def f(local):\n    return get_ipython().run_line_magic('tltrace', '--no-show local + 1')\nw = f(1)")
    assert shell.user_ns["w"] == 2


def test_a_line_does_not_expand_braces_or_dollars(shell: InteractiveShell) -> None:
    Ran(shell, "v = %tltrace --no-show {'a': '$kernel'}['a']")
    assert shell.user_ns["v"] == "$kernel"


def test_the_bare_magic_shows_the_last_trace_again(shell: InteractiveShell) -> None:
    assert Ran(shell, "%tltrace").out == "[tltrace] there is no trace yet\n"
    made = capture()
    ran = Ran(shell, "%tltrace -o again")
    assert len(ran.timelines) == 1
    assert shell.user_ns["again"] is made


def test_help_explains_with_examples(shell: InteractiveShell) -> None:
    text = inspect.getdoc(TraceMagics.tltrace) or ""
    for needed in ("Examples::", "--max-events N", "--ctas SPEC", "--keep", "--name STEM", "-o VAR", "--no-show"):
        assert needed in text
    assert shell.object_inspect("%tltrace")["docstring"]


# ---- options


def test_options_end_where_the_code_begins() -> None:
    request = parse("-o a --ctas=0:4  --name 'g' f(x) - 1 --no-show")
    assert (request.variable, request.stem, request.options.ctas, request.show) == (
        "a",
        "g",
        CtaRuns.of(range(4)),
        True,
    )
    assert request.code == "f(x) - 1 --no-show"
    assert parse("-- -x").code == "-x"


@pytest.mark.parametrize(
    "line",
    [
        "--foo", "-x", "--max-events", "--max-events many", "--max-events 0", "--keep middle", "--ctas", "--ctas a",
        "--ctas 3:", "--ctas -1", "--ctas ,", "--ctas 0", "-o", "-o 1x", "--name a/b", "--name ../a", "-o a -o b",
        "--no-show=1",
    ],
)  # fmt: skip
def test_a_wrong_option_is_a_usage_error(line: str) -> None:
    option = line.split(maxsplit=1)[0].lstrip("-").partition("=")[0]
    with pytest.raises(UsageError, match=option.replace("-", ".")):
        parse(line)


def test_code_on_the_line_of_a_cell_magic_is_refused(shell: InteractiveShell) -> None:
    ran = Ran(shell, "%%tltrace kernel()\nkernel()")
    assert "the code goes below it" in ran.err
    assert trace.last is None


@pytest.mark.parametrize(
    ("spec", "ids"),
    [("8", 8), ("0:3", [0, 1, 2]), (":2", [0, 1]), ("0:5:2", [0, 2, 4]), ("0,5,131", [0, 5, 131]), ("5,", [5])],
)
def test_cta_specs(spec: str, ids: Any) -> None:
    found = cta_ids(spec)
    assert (found if isinstance(found, int) else list(found)) == ids


def test_a_long_range_of_ctas_stays_a_range() -> None:
    (run,) = cta_ids("0:99999999999").runs
    assert (run.start, run.last) == (0, 2**31 - 1)
