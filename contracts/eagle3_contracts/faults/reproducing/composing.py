"""One Python file out of what is known of a fault, the two recordings, and the plain code that compares them."""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from eagle3_contracts.embedded import golden_root
from eagle3_contracts.faults.catalogue import find_fault
from eagle3_contracts.faults.fault import Fault
from eagle3_contracts.faults.making import MakingError
from eagle3_contracts.faults.reproducing.judging import find_violation
from eagle3_contracts.faults.reproducing.recording import Sides, record_sides
from eagle3_contracts.faults.reproducing.reducing import pack, reduce_sides
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import clause

_PARTS = "eagle3_contracts.faults.reproducing.standalone"
_WIDTH = 116
_START = 'if __name__ == "__main__":\n    sys.exit(show_difference(PACKED, sys.argv[1:]))'
_RECORDED = {
    "capture": "What a capture gave for four calls, on a tiny Llama of 8 layers; read after the last of them.",
    "loader": "What a training loader gave for small datasets: which stored row each block of its batches carries.",
    "server": "What a stand-in for an SGLang 0.5.23 answered; the bytes are sent again over a socket of this machine.",
}
_WRITTEN = "Small files as they should be and as they are, written in the tool's format by eagle3-contracts."


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
    imports, bodies = set[str](), []
    for part in parts:
        found, body = _take_apart(part)
        imports |= found
        bodies.append(body)
    packed = "\n".join(textwrap.wrap(base64.b85encode(pack(sides)).decode(), _WIDTH))
    ending = f'PACKED = r"""\n{packed}\n"""\n\n{_START}'
    blocks = [f'"""{head}\n"""', "from __future__ import annotations", "\n".join(_sort(imports)), *bodies, ending]
    return "\n\n".join(blocks) + "\n"


def _introduce(fault: Fault, finding: Finding, sides: Sides, left_out: list[str]) -> Iterator[str]:
    yield f"Reproducer of the fault {fault.id}."
    yield ""
    told = {
        "fault": fault.mechanism,
        "kind": f"{fault.kind}, stage {fault.stage}",
        "seen in": fault.source,
        "rule": clause(fault.clause).sentence,
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
            yield textwrap.fill(
                f"{name + ':':<12}{text}",
                100,
                subsequent_indent=" " * 12,
                break_long_words=False,
                break_on_hyphens=False,
            )
    yield from (
        "",
        "Run it: without arguments it shows the fault and exits with 1; with --sound it builds the side that",
    )
    yield "is in order and exits with 0. What is expected is what that side holds."
    needs = "torch" if any(name.endswith((".pt", ".ckpt", ".bin")) for name in sides.faulty) else ""
    yield f"Needs Python 3.11 or later{' and ' + needs if needs else ', and nothing else'}."


def _take_apart(part: str) -> tuple[set[str], str]:
    """Give a part's imports, those of the other parts left out, and what follows them."""
    text = Path(str(import_module(f"{_PARTS}.{part}").__file__)).read_text(encoding="utf-8")
    text = re.sub(r"  # noqa: .*", "", text)
    lines = text.split('"""', 2)[2].splitlines()
    imports = {line for line in lines if re.match(r"(import|from) ", line)}
    body = "\n".join(line for line in lines if line not in imports).strip()
    return {line for line in imports if _PARTS not in line and "__future__" not in line}, f"\n{body}\n"


def _sort(imports: set[str]) -> list[str]:
    return sorted(imports, key=lambda line: (line.startswith("from"), line))
