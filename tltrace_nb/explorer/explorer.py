"""``explore``: controls, one timeline, and what is said beside it.

In: a builder and its parameters. Out: :class:`Explorer`, a widget. A move of a control asks the worker for a run; its
result goes into the one timeline that is there. What was run before is kept, within bounds, so that going back is
instant.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets
import pandas as pd

from tltrace_nb.base.checks import checked, number, optional, pixels, tensors, wrong
from tltrace_nb.base.words import clean
from tltrace_nb.core.api import trace as switch
from tltrace_nb.explorer.controls import Controls, close, controls, menu
from tltrace_nb.explorer.facts import SHOWN, Facts, facts_of, headline, in_words, reason, table_html
from tltrace_nb.explorer.panel import Panel
from tltrace_nb.explorer.strip import Strip
from tltrace_nb.explorer.subjects import Inputs, Kernels, Subject, gpus, subject
from tltrace_nb.explorer.worker import Check, Failed, Worker
from tltrace_nb.widget.notebook import notebook_shell, still
from tltrace_nb.widget.shown import note
from tltrace_nb.widget.timeline import Timeline

if TYPE_CHECKING:
    from tltrace_nb.core.trace import Trace

KEPT = 64
"""Runs that an explorer keeps."""
KEPT_BYTES = 256 << 20
"""Bytes of slots that the kept runs take together, unless the last alone takes more."""
_NOTHING = pd.DataFrame({key: pd.Series(dtype="int64") for key in ("cta", "thread", "start", "end")}).assign(
    name="", lane=""
)


@dataclass(frozen=True, slots=True)
class Combination:
    """Parameters, and a GPU where there is a choice; ``words`` names them."""

    values: dict[str, Any]
    gpu: Any
    words: str

    @property
    def key(self) -> Hashable | None:
        """Equal for equal combinations; ``None`` for values that cannot be compared."""
        key = (tuple(self.values.items()), self.gpu)
        try:
            hash(key)
        except TypeError:
            return None
        return key


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The trace of a combination, and what is told of it."""

    combination: Combination
    trace: Trace
    facts: Facts


class Kept:
    """The latest runs by their combination, at most so many and so large."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._runs: OrderedDict[Hashable, Run] = OrderedDict()

    def __len__(self) -> int:
        return len(self._runs)

    def get(self, key: Hashable | None) -> Run | None:
        """The run of a combination, which thereby becomes the latest."""
        run = self._runs.get(key)
        if run is not None:
            self._runs.move_to_end(key)
        return run

    def add(self, key: Hashable | None, run: Run) -> None:
        """Keep ``run``, and let go of the oldest for which there is no room."""
        if key is None:
            return
        self._runs[key] = run
        self._runs.move_to_end(key)
        while len(self._runs) > 1 and (len(self._runs) > self._most or self.bytes > self._most_bytes):
            self._runs.popitem(last=False)

    @property
    def bytes(self) -> int:
        """Bytes of slots held."""
        return sum(run.trace.slots.nbytes for run in self._runs.values())

    def clear(self) -> None:
        self._runs.clear()


class Explorer(ipywidgets.VBox):
    """What ``explore`` returns: the controls over the timeline, and the facts under it.

    ``trace`` is the run that is shown, ``None`` where it failed; ``controls`` are its widgets by parameter.
    """

    def __init__(
        self, subject: Subject, parameters: Controls, choice: list[Any], height: int | None, shown: Collection[str]
    ) -> None:
        self._shown = shown
        self._subject, self._parameters = subject, parameters
        named = [(str(getattr(each, "name", each)), each) for each in choice]
        self._gpu = menu("gpu", named, choice[0]) if len(choice) > 1 else None
        self._only_gpu = choice[0] if choice else None
        self._kept = Kept(KEPT, KEPT_BYTES)
        self._run: Run | None = None
        self._failed = self._closed = False
        self._worker: Worker[Run] = Worker(self._arrived)
        self.timeline = Timeline(_NOTHING, height=height, title=subject.name)
        """The one timeline, which goes from run to run."""
        self._line, self._facts = Panel(), Panel()
        bar = ipywidgets.HBox(list(self.controls.values()), layout={"flex_flow": "row wrap"})
        self._bar = bar
        self._strip: Strip | None = None
        self._headline = ""
        super().__init__([bar, self._line, self.timeline, self._facts])
        self.add_class("tlt-explorer")
        parameters.observe(self._moved)
        if self._gpu is not None:
            self._gpu.observe(self._moved, "value")
        self._moved()
        try:
            self.wait()
        except BaseException:  # Ctrl-C: nobody gets hold of this explorer
            self.close()
            raise

    @property
    def controls(self) -> dict[str, Any]:
        """The widgets by parameter, the GPU's last."""
        return {**self._parameters.widgets, **({} if self._gpu is None else {"gpu": self._gpu})}

    @property
    def trace(self) -> Trace | None:
        """The trace that the timeline shows; ``None`` where it shows a reason instead."""
        return None if self._failed or self._run is None else self._run.trace

    @property
    def headline(self) -> str:
        """What changed with the last move, in one line; empty where it failed."""
        return self._headline

    @property
    def values(self) -> dict[str, Any]:
        """The parameters as the controls have them now."""
        return self._parameters.values

    @checked(timeout=optional(number(0, "seconds, not negative, or None")))
    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what the controls say is shown; false where that takes more than ``timeout`` seconds.

        A notebook does not need it, unless its next lines read ``trace``; a script does.
        """
        return self._worker.wait(timeout)

    def close(self) -> None:
        """End the thread, the widgets that were made here, and all views."""
        if self._closed:
            return
        self._closed = True
        self._worker.close()
        self._kept.clear()
        self._run = None
        if self._gpu is not None:
            self._gpu.unobserve(self._moved, "value")
            close(self._gpu)
        self._parameters.close(self._moved)
        self.timeline.close()
        for part in (self._strip, self._line, self._facts, self._bar):
            if part is not None:
                close(part)
        layout = self.layout
        super().close()
        layout.close()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        shell = notebook_shell()
        if shell is not None:
            note(self, shell)
        return {**super()._repr_mimebundle_(**options), **still(self.timeline.shown), "text/plain": repr(self)}

    def __repr__(self) -> str:
        told = self.timeline.instead or f"{self._asked.words}: {self.headline}"
        return f"Explorer of {self._subject.name}, {told}"

    def _display_(self) -> Any:
        """The same in marimo, which shows anywidgets but no other widgets."""
        import marimo

        if self._strip is None:
            self._strip = Strip(self.controls)
        return marimo.vstack([self._strip, self._line, self.timeline, self._facts])

    # ---- a move

    def _moved(self, _: object = None) -> None:
        gpu = self._only_gpu if self._gpu is None else self._gpu.value
        values = self._parameters.values
        combination = Combination(values, gpu, in_words(self._parameters.chosen, gpu))
        self._asked = combination
        if (kept := self._kept.get(combination.key)) is not None:
            self._worker.give_up()
            self._show(kept)
            return
        subject = self._subject

        def job(check: Check) -> Run:
            trace = subject.run(values, gpu, check)
            check()
            facts = facts_of(trace)
            check()
            return Run(combination, trace, facts)

        self._line.busy = True
        self._worker.ask(job)

    def _arrived(self, result: Run | Failed) -> None:
        if isinstance(result, Failed):
            self._refuse(result.error)
            return
        self._kept.add(result.combination.key, result)
        self._show(result)

    def _show(self, run: Run) -> None:
        before, self._run = self._run, run
        if before is not run or self._failed:
            title = f"{run.trace.meta.kernel}: {run.combination.words}"
            self.timeline.replace(run.trace, title=title)
            self._headline = headline(run.facts, before.facts if before else None, self._shown)
            self._line.html = f'<p class="tlt-x-line">{self._headline}</p>'
            self._facts.html = table_html(run.facts, self._shown)
        self._failed = False
        self._line.busy = False

    def _refuse(self, error: BaseException) -> None:
        self._failed = True
        self.timeline.instead = f"{self._asked.words} does not run:\n\n{reason(error)}"
        self._headline = self._line.html = self._facts.html = ""
        self._line.busy = False


def _inputs(name: str, value: Any) -> Any:
    """Tensors, or what makes them."""
    return value if callable(value) else tensors(name, value)


@checked(inputs=optional(_inputs), height=optional(pixels))
def explore(
    builder: Callable[..., Any],
    /,
    *,
    gpu: Any = None,
    inputs: Inputs = None,
    height: int | None = None,
    facts: Collection[str] = SHOWN,
    **parameters: Any,
) -> Explorer:
    """Sliders and menus for a kernel's parameters, over its timeline, which moves to each new run.

    ``builder``: a ``@trace.jit`` builder, or a plain ``@tilelang.jit`` one, which gets automatic markers; or a function
    that returns a ``Trace``. ``parameters``: what each of its parameters may be, as for ``ipywidgets.interact``: a
    tuple ``(low, high)`` or ``(low, high, step)`` for a slider, a list for a menu (of ascending numbers: a slider that
    stops at them), a dictionary for a menu of names, a bool for a check box, or a widget. Any other value is passed on.

    ``gpu``: a model of the virtual GPU, a list of them for a menu, or ``"cuda"``; by default a menu of all. (To a
    function that returns a ``Trace``, one more parameter.)
    ``inputs``: tensors, or a function that makes them from the parameters; by default they are made from the kernel's
    signature. On the virtual GPU only what control flow and payloads depend on is computed. ``height``: of the lanes,
    in pixels. ``facts``: which stand beside the table of names, of "duration", "CTAs", "CTA slots", "waves", "tail",
    "occupancy" and "at most".

    A combination that does not run shows why, in place of the timeline. ``close()`` ends it all. Raises ``TypeError``
    for parameters that the builder does not have, or lacks, and ``ValueError`` for what makes no control.

    >>> explore(matmul, M=512, N=512, K=512, block_M=[64, 128], stages=(1, 4))
    """
    if not (isinstance(facts, (tuple, list)) and all(isinstance(each, str) and each in SHOWN for each in facts)):
        wrong("facts", facts, f"a list of some of {', '.join(SHOWN)}")
    what = subject(builder, inputs, switch)
    if isinstance(what, Kernels):
        choice = gpus(gpu)
    else:  # a parameter of the function's own, as any other
        choice = []
        parameters |= {} if gpu is None else {"gpu": gpu}
    return Explorer(what, controls(clean(what.name), what.signature, parameters), choice, height, facts)
