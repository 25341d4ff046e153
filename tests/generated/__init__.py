"""Random TileLang kernels with markers, what each of them must record, and the comparison of the two.

The way of a seed: ``generator`` makes a kernel of ``nodes``, ``render`` writes it as an author would and lets TileLang
parse it, ``interpreter`` says from the nodes what it computes and which markers each thread passes, ``contract``
compares that with a trace, ``check`` does so for the builds of one kernel. ``minimise`` makes a finding small, and
``found`` keeps those that were findings once. ``python -m generated --seeds 0:500`` prints what it finds.
"""
