"""How a kernel is to be compiled: what ``tilelang.compile`` takes besides the kernel.

In: a builder or a compiled kernel of TileLang's, and what a PrimFunc says of its own compilation. Out:
:class:`Compilation`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

OUT_IDX = "tilelang_out_idx"
"""Attribute in which a PrimFunc itself names its outputs (``T.empty``)."""
PASS_CONFIGS = "tilelang_pass_configs"
"""Attribute in which a PrimFunc itself asks for pass configs."""
_COMPILE_FLAGS = "tilelang_compile_flags"


@dataclass(frozen=True, slots=True)
class Compilation:
    """The arguments of ``tilelang.compile``."""

    out_idx: list[int] | int | None = None
    target: Any = None
    target_host: Any = None
    execution_backend: str | None = None
    verbose: bool | None = None
    pass_configs: dict[str, Any] | None = None
    compile_flags: list[str] | str | None = None

    @classmethod
    def of(cls, compiler: Any) -> Compilation:
        """How a builder or a compiled kernel of TileLang's is compiled."""
        return cls(**{field.name: getattr(compiler, field.name) for field in fields(cls)})

    def of_function(self, func: Any) -> Compilation:
        """The same with what the PrimFunc itself says of its compilation, as ``tilelang.compile`` folds it in."""
        attributes = func.attrs or {}
        how = self
        if OUT_IDX in attributes and how.out_idx is None:
            how = replace(how, out_idx=[int(i) for i in attributes[OUT_IDX]])
        if PASS_CONFIGS in attributes:
            how = replace(how, pass_configs={**dict(attributes[PASS_CONFIGS]), **(how.pass_configs or {})})
        if _COMPILE_FLAGS in attributes:
            own, asked = how.flags or [], [str(flag) for flag in attributes[_COMPILE_FLAGS]]
            folded = own[: len(asked)] == asked  # by TileLang
            how = replace(how, compile_flags=own if folded else [*asked, *own])
        return how

    @property
    def outputs(self) -> list[int] | None:
        """``out_idx`` as a list."""
        return [self.out_idx] if isinstance(self.out_idx, int) else self.out_idx

    @property
    def flags(self) -> list[str] | None:
        """``compile_flags`` as a list."""
        flags = self.compile_flags
        return [flags] if isinstance(flags, str) else None if flags is None else list(flags)
