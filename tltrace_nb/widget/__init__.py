"""The views of a trace: the Plotly figure, the offline page, the still picture, and what a notebook shows."""
