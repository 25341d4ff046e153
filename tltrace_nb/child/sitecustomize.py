"""Python runs this at the start of each process that a program under ``tltrace run`` starts.

It hands over to the ``sitecustomize`` that the process would have had, then has the process trace itself.
"""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path


def _hand_over() -> None:
    own = os.path.realpath(Path(__file__).parent)
    path = [folder for folder in sys.path if os.path.realpath(folder) != own]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _trace() -> None:
    try:
        from tltrace_nb.processes import begin
    except ImportError:  # another Python, without this package
        return
    begin()


_hand_over()
_trace()
