"""Races: accesses to one element, one of them a write, that nothing orders.

In: a scheduled kernel and its arguments. Out: what races, in words. The way of a kernel through the modules::

    kernel           has TileLang plan it, and keeps what came of it
      device_code    compiles a device function to a Python generator, by way of operators, slicing
      check          runs a few CTAs: strands, in running, by clocks, barriers; shadow finds conflicts (descriptors)
      messages       says what they are, at which lines (device_lines)
"""
