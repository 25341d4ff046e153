"""Reference kernels, marked as an author marks them: what the tests trace, on a GPU, on the virtual one, or as text."""

from kernels import attention, control, decoding, elementwise, experts, gemm, products, rasterised, seed
from kernels.reference import Reference

MODULES = (seed, elementwise, control, gemm, attention, decoding, experts, products, rasterised)

REFERENCES: tuple[Reference, ...] = tuple(reference for module in MODULES for reference in module.REFERENCES)

BY_NAME: dict[str, Reference] = {reference.name: reference for reference in REFERENCES}

__all__ = ["BY_NAME", "MODULES", "REFERENCES", "Reference"]
