"""``explore``: a kernel's parameters on sliders beside its timeline, which follows them.

In: a builder and its parameters. Out: an :class:`~tltrace_nb.explorer.explorer.Explorer`. The way of a move::

    controls    a slider moves: the values of all parameters
      worker    one thread takes up the latest, and gives up what came before
        subjects  builds the kernel for them and runs it (inputs makes its tensors)
        facts   what is told beside the timeline, and what changed
      explorer  shows it, unless the slider has moved on (panel, and strip where there are no ipywidgets)
"""
