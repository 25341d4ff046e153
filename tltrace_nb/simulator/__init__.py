"""A virtual GPU: TileLang kernels executed tile by tile on this machine, with a stated cost model, and traced.

It takes the IR that the CUDA path would compile next (scheduled by TileLang for the chosen architecture, markers
placed) and fills the same ``slots``. The way of a kernel through the modules::

    run           schedules it, binds tensors, decides how many CTAs fit on an SM
      program     compiles a launch to a Python generator, by way of
        uniformity, expressions, statements, tileops
      storage     gives each CTA its memory (memory, barriers)
      engine      lets the strands run in order of time (strand, requests)
        costing   prices what they do (costs, machine)
        recording fills the slots
"""
