"""Nothing of its own: it makes this folder importable, so that tests share what lies beside them (``kernels``)."""
