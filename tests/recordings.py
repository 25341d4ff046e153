"""Where the recorded traces are that users get."""

from tltrace_nb.datasets import FOLDER

RECORDED = FOLDER / "h200"
