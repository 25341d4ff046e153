"""``T.use_swizzle`` as a kernel's IR has it.

In: the root block of a launch, or one of its attributes. Out: :class:`~tltrace_nb.data.sites.Rasterisation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tilelang  # noqa: F401  (puts the tvm that TileLang bundles on the path)
from tvm import tirx

from tltrace_nb.core.compile.ir import Stmt, walk
from tltrace_nb.data.sites import Launch, Rasterisation

ATTRIBUTE = "threadblock_swizzle_pattern"
"""What TileLang writes as ``const dim3 blockIdx = …``: it holds to the end of the block of C++ that it stands in."""

_BLOCKS_OF_C = (tirx.For, tirx.While, tirx.IfThenElse)


def rasterisation(root: Stmt) -> Rasterisation | None:
    """The pattern of a launch, ``None`` without one; of an empty name where it is not the same all over the kernel."""
    found = [(s, above) for s, above in walk(root.body) if is_swizzle(s)]
    if not found:
        return None
    if len(found) > 1 or is_inner(found[0][1]):
        return Rasterisation("", 0)
    return pattern(found[0][0], root.annotations)


def is_swizzle(statement: Stmt) -> bool:
    """Whether a statement is an attribute that redefines the block's indices."""
    return isinstance(statement, tirx.AttrStmt) and statement.attr_key == ATTRIBUTE


def is_inner(above: tuple[Stmt, ...]) -> bool:
    """Whether what stands below these statements of a kernel holds for a branch or a loop alone."""
    return any(isinstance(s, _BLOCKS_OF_C) for s in above)


def pattern(attribute: Stmt, annotations: Any) -> Rasterisation:
    """The pattern that an attribute asks for, in a kernel whose root block has these annotations."""
    call = attribute.value
    arguments = list(call.args) if isinstance(call, tirx.Call) else []
    if len(arguments) < 2 or not (isinstance(arguments[0], tirx.StringImm) and isinstance(arguments[1], tirx.IntImm)):
        return Rasterisation("", 0)
    along_x, *others = [int(n) for n in annotations.get("cluster_dims", ())] or [1]
    if max(others, default=1) > 1:  # TileLang reorders clusters along x alone
        along_x = 0
    return Rasterisation(str(arguments[0].value), int(arguments[1]), along_x)


def unknown_blocks(launches: Sequence[Launch]) -> str:
    """What is to be said of launches whose block indices cannot be told; empty where all can."""
    said = []
    for launch in launches:
        each = launch.rasterisation
        if each is not None and not each.known:
            what = f"{each.function} with panels of {each.panel}" if each.function else "a swizzle in a part of it"
            said.append(f"{launch.name} reorders its blocks by {what}: block_x, block_y and block_z are not known (-1)")
    return "; ".join(said)
