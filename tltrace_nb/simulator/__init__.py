"""A virtual GPU: TileLang kernels executed tile by tile on this machine, with a stated cost model, and traced.

It takes the IR that the CUDA path would compile next (scheduled by TileLang for the chosen architecture, markers
placed) and fills the same ``slots``. The way of a kernel through the modules::

    run           schedules it, decides how many CTAs fit on an SM (footprint)
      binding     checks the arguments and binds them (packed)
      fragments   asks TileLang how fragments lie over threads
      registers   writes out tile operators of single threads, and vectors (vectors)
      program     compiles a launch to a Python generator, by way of
        uniformity, expressions, statements, nests, tileops, barrierops, which know each other through writing;
        liveness, register_reuse say what may be left out, traffic which sectors and banks a warp touches
      source_lines knows the source line of each statement
      storage     gives each CTA its memory (memory, barriers)
      engine      lets the thread groups run in order of time (thread_group, yields)
        costing   prices what they do (costs, base.gpus)
        recording fills the slots
      races       finds accesses that nothing orders, in what TileLang would compile for a GPU
      reports     says what went wrong, who waits for whom, at which line

Generated code calls ``tiles``, ``values``, ``bits`` and ``warps``.
"""
