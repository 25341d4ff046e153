"""The check that tracing leaves a kernel alone: the traced CUDA source without what tracing adds.

What it adds, and all that is taken out here: the helper text, lines that name ``__tlt_``, the parameter
``__tlt_slots``, blocks in which the author put nothing but markers, and a guard that was closed and opened again only
because a record stands between two statements that shared it.
"""

from __future__ import annotations

import re

from tltrace_nb.core.compile import device

_SLOTS = re.compile(r"(?<=[( ])int64_t\* __restrict__ __tlt_slots(, |(?=\)))")
_KERNEL = re.compile(r'^extern "C" __global__ void ')
_GUARD = re.compile(
    r"^ *if \((tl::tl_shuffle_elect<\d+>\(\)"
    r"|(\(int\)(?:threadIdx|blockIdx)\.[xyz]|(?!int\b)[a-z]\w*\b(?![(\[.:])|[()\d\s%<>=&|+*/-])+)\) \{$"
)
"""A condition on the thread, its block and variables; those must be of loops, so that nothing under it changes it."""
_VARIABLE = re.compile(r"(?<![.\w])(?!int\b|if\b)[a-z]\w*\b(?![(\[.:<])")
_TWO_BODIES = re.compile(
    r"^(?P<indent> *)if \([^\n]*\) \{\n(?P<then> *__tlt_enter\(.*?)"
    r"^(?P=indent)\} else \{\n(?P<other>.*?)^(?P=indent)\}\n",
    re.DOTALL | re.MULTILINE,
)
_TABLE = re.compile(r', "tltrace\.table": "(?:[^"\\]|\\.)*"')
_POINTERS = re.compile(r'("tl\.readonly_param_indices": \[[\d, ]*), \d+\]')
_NUM_ARGS = re.compile(r"(num_args (?:==|should be) )(\d+)")
_INDENT = re.compile(r" *")
_FUNCTION = re.compile(r'^(?=extern "C" )', re.MULTILINE)
_READ = re.compile(
    r"^( *)\w+ (?P<name>condval\w*);\n\1if \(.*\) \{\n\1  (?P=name) = .*;\n\1\} else \{\n\1  (?P=name) = .*;\n\1\}\n",
    re.MULTILINE,
)
"""How TileLang's code generator reads an element that may lie outside of its tensor."""
_EMPTY = re.compile(r"^( *)if \(.*\) \{\n\1\}\n", re.MULTILINE)


def untraced(source: str, bare: str = "") -> str:
    """The CUDA source of a traced kernel without what tracing adds to it.

    ``bare``: the untraced source. A guard that it closes and opens again, too, at the same line, stays so.
    """
    if device.HELPER not in source:
        raise AssertionError("not a traced source: it does not contain the helper")
    lines: list[str] = []
    theirs = bare.split("\n")
    recorded = False  # whether something of tracing's was taken out right before this line
    for line in source.replace(device.HELPER, "").split("\n"):
        if _KERNEL.match(line):
            line = _SLOTS.sub("", line).replace(", )", ")")
        if "__tlt_" in line and not line.endswith("{"):  # a block of tracing's goes when it proves to be empty
            recorded = True
        elif recorded and _reopens(line, lines) and theirs[len(lines) - 1 : len(lines) + 1] != [lines[-1], line]:
            lines.pop()
            recorded = False
        elif recorded and _closes_nothing(line, lines):
            # The author's block had no other content; what stood before its brace was taken out as well.
            opened = lines.pop()
            if opened.lstrip().startswith("for (") and lines[-1].lstrip().startswith("#pragma unroll"):
                lines.pop()
            if opened.endswith("} else {"):
                if _closes_nothing(line, lines):  # nor had the other branch
                    lines.pop()
                else:
                    lines.append(line)
                    recorded = False
        else:
            lines.append(line)
            recorded = False
    return "\n".join(lines)


def without_unused_reads(source: str) -> str:
    """A CUDA source without values that it reads and does not use, the others numbered in their order.

    A payload of an element that may lie outside of its tensor is read in statements of its own.
    """
    return "".join(map(_used, _FUNCTION.split(source)))


def _used(function: str) -> str:

    def unused(found: re.Match[str]) -> str:
        return found[0] if len(re.findall(rf"\b{found['name']}\b", function)) > 3 else ""

    while (shorter := _READ.sub(unused, function)) != function:
        function = _EMPTY.sub("", shorter)
    names = list(dict.fromkeys(re.findall(r"\bcondval(?:_\d+)?\b", function)))
    numbered = {name: f"condval_{i}" if i else "condval" for i, name in enumerate(names)}
    return re.sub(r"\bcondval(?:_\d+)?\b", lambda found: numbered[found[0]], function)


def compared(traced: str, bare: str) -> tuple[str, str]:
    """The traced source without what tracing adds, and the bare one, as they are equal where the code is.

    In both a guard that is closed and opened again at once is one guard, and no value is read that nobody uses.
    """
    ours, theirs = (without_unused_reads(source) for source in (untraced(traced, bare), bare))
    return _joined(ours), _joined(theirs)


def _joined(source: str) -> str:
    lines: list[str] = []
    for line in source.split("\n"):
        if lines and _reopens(line, lines):
            lines.pop()
        else:
            lines.append(line)
    return "\n".join(lines)


def recording_body(source: str) -> str:
    """The source of a kernel of two bodies with the recording one alone; any other source as it is."""
    return _TWO_BODIES.sub(lambda found: _shifted(found["then"]), source)


def plain_body(source: str) -> str:
    """The source of a kernel of two bodies with the body of CTAs that do not record alone."""
    return _TWO_BODIES.sub(lambda found: _shifted(found["other"]), source)


def _shifted(branch: str) -> str:
    return re.sub("^  ", "", branch, flags=re.MULTILINE)


def untraced_host(script: str) -> str:
    """The host function of a traced kernel without its last pointer, ``__tlt_slots``, and the site table."""
    lines = []
    for line in _POINTERS.sub(r"\1]", _TABLE.sub("", script)).split("\n"):
        if "T.call_packed(" in line:
            lines.append(line.replace(", __tlt_slots", "", 1))
        elif "__tlt_" not in line:
            lines.append(_NUM_ARGS.sub(lambda m: f"{m[1]}{int(m[2]) - 1}", line))
    return "\n".join(lines)


def _reopens(line: str, before: list[str]) -> bool:
    """Whether a line opens the guard that the last line before it, a lone brace, has just closed."""
    indent = _indent(line)
    if before[-1] != f"{indent}}}" or not _GUARD.match(line):
        return False
    if not all(any(f"for (int {name} = " in b for b in before) for name in _VARIABLE.findall(line)):
        return False
    opened = next((b for b in reversed(before[:-1]) if not b.startswith(f"{indent} ")), None)
    return opened == line


def _closes_nothing(line: str, before: list[str]) -> bool:
    """Whether a line, a lone brace, closes the block that the last line before it opened."""
    return line.strip() == "}" and before[-1].endswith("{") and _indent(before[-1]) == _indent(line)


def _indent(line: str) -> str:
    return _INDENT.match(line)[0]  # type: ignore[index]
