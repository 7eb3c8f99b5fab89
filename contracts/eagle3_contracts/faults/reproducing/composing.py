"""One Python file out of what is known of a fault, the two recordings, and the plain code that compares them."""

from __future__ import annotations

import ast
import base64
import re
import textwrap
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from eagle3_contracts.embedded import golden_root
from eagle3_contracts.faults.catalogue import find_fault
from eagle3_contracts.faults.fault import Fault
from eagle3_contracts.faults.making import MakingError
from eagle3_contracts.faults.reproducing.judging import find_violation
from eagle3_contracts.faults.reproducing.recording import Sides, record_sides
from eagle3_contracts.faults.reproducing.reducing import pack, reduce_sides
from eagle3_contracts.faults.sources import list_links
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import clause

_PARTS = "eagle3_contracts.faults.reproducing.standalone"
_WIDTH = 116
_START = 'if __name__ == "__main__":\n    sys.exit(run_program(PACKED, sys.argv[1:]))'
_FIRST = """import sys

if sys.version_info < (3, 11):
    sys.stderr.write("needs Python 3.11 or later\\n")
    sys.exit(2)
"""
_RECORDED = {
    "capture": "What a capture gave for four calls, on a tiny Llama of 8 layers; read after the last of them.",
    "loader": "What a training loader gave for small datasets: which stored row each block of its batches carries.",
    "server": "What a stand-in for an SGLang 0.5.23 answered; the bytes are sent again over a socket of this machine.",
}
_WRITTEN = "Small files as they should be and as they are, written in the tool's format by eagle3-contracts."
_DOES = (
    "What this does: it holds two sides, both made by eagle3-contracts, one in order and one into which the fault was "
    "put; it compares them number by number and says what differs. What it does not: it runs none of the tools named "
    "above, evaluates no rule, and does not show that any release of them has the fault."
)
_QUOTED = (
    "The lines rule, expected, observed, where and mended by are quoted from eagle3-contracts, whose clause was run on "
    "the whole faulty side when this file was written; nothing below computes them again, and what is compared below "
    "may be a part of that side (kept, left out)."
)
_RUN = (
    "Run it: without arguments it prints the differences and exits with 1; with --sound it compares the side that is "
    "in order with itself and exits with 0; 2 says that it could not be run."
)


def reproduce_fault(fault_id: str) -> str:
    """Give the text of a reproducer. Raises ``MakingError`` for an unknown fault."""
    try:
        fault = find_fault(fault_id)
    except KeyError:
        raise MakingError(f"no fault {fault_id!r}", "`eagle3-contracts faults` lists them") from None
    return compose_reproducer(fault, find_violation(fault))


def compose_reproducer(fault: Fault, finding: Finding) -> str:
    """Give the text of a reproducer of a fault, in the words of the finding that it causes."""
    sides, left_out = reduce_sides(record_sides(fault))
    head = "\n".join(_introduce(fault, finding, sides, left_out)).replace("\\", "\\\\").replace('"""', "'''")
    parts = ["reading", "comparing", *(["replaying"] if fault.stage == "server" else []), "showing"]
    imports, bodies = list[ast.stmt](), []
    for part in parts:
        found, body = _take_apart(part)
        imports += found
        bodies.append(body)
    packed = "\n".join(textwrap.wrap(base64.b85encode(pack(sides)).decode(), _WIDTH))
    head = f'"""{head}\n"""\n\nfrom __future__ import annotations\n\n{_FIRST}\n{_merge(imports)}'
    return "\n\n\n".join([head, *bodies, f'PACKED = r"""\n{packed}\n"""\n\n{_START}']) + "\n"


def _introduce(fault: Fault, finding: Finding, sides: Sides, left_out: list[str]) -> Iterator[str]:
    yield f"Reproducer of the fault {fault.id}."
    yield ""
    told = {
        "fault": fault.mechanism,
        "kind": f"{fault.kind}, stage {fault.stage}",
        "seen in": fault.source,
        "links": " ".join(list_links(fault.source)),
        "rule": f"{fault.clause}: {clause(fault.clause).sentence}",
        "expected": "" if finding.expected == clause(fault.clause).sentence else finding.expected,
        "observed": finding.observed,
        "where": str(finding.where),
        "mended by": finding.hint,
        "shown here": _RECORDED.get(fault.stage, _WRITTEN),
        "kept": ", ".join(sorted({*sides.sound, *sides.faulty})),
        "left out": ", ".join(left_out),
    }
    for name, said in told.items():
        text = said.replace(f"{golden_root()}/", "")
        if text:
            yield _fill(f"{name + ':':<12}{text}", indent=12)
    for paragraph in (_DOES, _QUOTED, _RUN, f"Needs Python 3.11 or later{_name_needs(sides)}."):
        yield from ("", _fill(paragraph))


def _fill(text: str, *, indent: int = 0) -> str:
    return textwrap.fill(text, 100, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _name_needs(sides: Sides) -> str:
    torch = any(name.endswith((".pt", ".ckpt", ".bin")) for name in {**sides.sound, **sides.faulty})
    return " and torch (pip install torch)" if torch else ", and nothing else"


def _take_apart(part: str) -> tuple[list[ast.stmt], str]:
    """Give a part's imports, those of the other parts left out, and what follows them."""
    text = Path(str(import_module(f"{_PARTS}.{part}").__file__)).read_text(encoding="utf-8")
    text = re.sub(r"  # noqa: .*", "", text)
    imports: list[ast.stmt] = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    body = "\n".join(text.splitlines()[imports[-1].end_lineno or 0 :]).strip()
    return imports, body


def _merge(imports: Iterable[ast.stmt]) -> str:
    """Write the imports of all parts, each module and each name once; ``sys`` and the future stand above."""
    modules = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names} - {"sys"}
    names: dict[str, set[str]] = {}
    for node in imports:
        module = node.module if isinstance(node, ast.ImportFrom) else None
        if isinstance(node, ast.ImportFrom) and module and module != "__future__" and _PARTS not in module:
            names.setdefault(module, set()).update(alias.name for alias in node.names)
    lines = [f"import {module}" for module in sorted(modules)]
    lines += [f"from {module} import {', '.join(sorted(named))}" for module, named in sorted(names.items())]
    return "\n".join(lines)
