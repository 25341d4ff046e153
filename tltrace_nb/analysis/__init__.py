"""What the events of a trace say: was the GPU full, who waited for whom, what bounds each CTA, what changed.

In: a :class:`~tltrace_nb.data.trace_data.TraceData` (or two). Out: a :class:`~tltrace_nb.analysis.table.Table`, a frame
with the columns of :mod:`~tltrace_nb.analysis.columns` that says what it cannot tell (``notes``) and draws itself
(``figure``). One module per question; each is reached as the method of that name on the trace.
"""
