"""The kill matrix as a page: what was done wrong, where it was seen, and which clause says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eagle3_contracts.faults import Kind
from eagle3_contracts.registry import CLAUSES
from support.museum.exhibits import judging_clauses
from support.museum.figures import read_figures, tell_figures
from support.museum.fixtures import FIXTURES
from support.museum.origins import Origin, find_origin
from support.museum.pairs import MASKED, PAIRS

Row = Mapping[str, Any]

HEAD = """\
# The fault museum

Every clause can fail, and nothing good does. Where the faults come from is counted below.
[A small function](../../contracts/eagle3_contracts/faults/injecting) puts each into a sound subject made of the
embedded default, and every clause of its stage and of the document judges it.
`pytest tests/faults` judges all of them again and compares with [`matrix.json`](matrix.json), which this page is
written from; `EAGLE3_CONTRACTS_UPDATE_SNAPSHOTS=1 pytest tests/faults/test_caught.py` rewrites both (refused in CI).
`tox -e faults` is the same on two workers.
"""


GOOD = """\
## Nothing good raises a must

| what is good | where it is shown |
|---|---|
| planes, orders, norm states, dtypes declared otherwise and kept to | `test_good_states.py`, `test_good_drafters.py` |
| every dataset format, single tokens, the drafter's longest sequence | `test_good_states.py` |
| exports: forms, shards, norms, heads, dtypes, ropes | `test_good_drafters.py`, `test_checkpoints.py` |
| weak drafters: of a few updates, of small weights | `test_weak_drafters.py`, `test_good_drafters.py` |
| launch commands, servers that draft more or fewer tokens | `test_good_drafters.py`, `test_servers.py` |
| anything drawn: wirings, lengths, dtypes, vocabularies | `../properties/test_conformance.py` |
| what real trainers write and export | `../peers`: `test_files.py`, `test_checkpoint.py`, `test_v0.py`, ... |
| SmolLM2-135M in float32 and bfloat16; seven other decoders | `../smollm2`, `../architectures` |
"""


NEEDS = {"checkpoint.drafted-tokens": "needs recorded drafted tokens"}
"""Clauses that are skipped unless more is given than the files that the fault is in."""

NOTES = {
    "dataset": (
        "A loss mask that is rolled by a token, or inverted, is told from no file: no file says which tokens it should "
        "mark. What a loader does with a mask is told by `--loader`."
    ),
    "checkpoint": (
        "Tensors of one shape that were exchanged (planes in fc, keys and values, gate and up, two norms, rows of "
        "lm_head) pass every other clause. Without tokens that were recorded with the trained weights "
        "`checkpoint.drafted-tokens` is skipped: `record` makes the recording, `--golden` checks it. "
        "`eagle3-contracts diagnose` needs none and names planes in another order. The others it does not name: they "
        "show in its accuracy alone, which says something beside the trainer's own (`--expected-accuracy`)."
    ),
}
"""What no clause of a stage can tell, or not without more than files."""


def write_page(rows: Mapping[str, Row]) -> str:
    """Write the page of all rows."""
    parts = [HEAD, *_counts(rows), GOOD, *_fixtures(), *_pairs(), *tell_figures(read_figures())]
    for stage in dict.fromkeys(row["stage"] for row in rows.values()):
        parts += _stage(stage, {name: row for name, row in rows.items() if row["stage"] == stage})
    parts += _clauses(rows)
    return "\n".join(parts).rstrip() + "\n"


def _counts(rows: Mapping[str, Row]) -> Iterator[str]:
    kinds = Counter(row["kind"] for row in rows.values())
    yield f"{len(rows)} faults of {len(kinds)} kinds; {len(CLAUSES)} clauses, each of which kills at least one.\n"
    yield "| kind | faults |\n|---|---|"
    yield from (f"| {kind} | {kinds[kind]} |" for kind in Kind)
    yield ""
    origins = Counter(find_origin(row["source"]) for row in rows.values())
    yield "| seen in | faults |\n|---|---|"
    yield from (f"| {origin} | {origins[origin]} |" for origin in Origin)
    yield ""


def _fixtures() -> Iterator[str]:
    yield "## Wirings to tell apart\n"
    yield "What a suite for these drafters must tell apart, with the faults and the sound cases that show it.\n"
    yield "| | what | faults | sound, or shown elsewhere |\n|---|---|---|---|"
    for name, fixture in FIXTURES.items():
        tests = _join([f"`{test}`" for test in fixture.tests])
        shown = _join(filter(None, [tests, fixture.left_out]))
        yield f"| {name} | {fixture.what} | {_join(fixture.faults)} | {shown} |"
    yield ""


def _pairs() -> Iterator[str]:
    yield "## Two faults at once\n"
    yield f"{len(PAIRS)} pairs of which both clauses fail (`test_pairs.py`):\n"
    yield from (f"- {first} and {second}" for first, second in PAIRS)
    yield "\nPairs of which the first keeps the second's clause from being checked. It is errored, and never passes:\n"
    yield from (f"- {first} hides {second}: {why}" for (first, second), why in MASKED.items())
    yield ""


def _stage(stage: str, rows: Mapping[str, Row]) -> Iterator[str]:
    yield f"## {stage.capitalize()}: {len(rows)} faults\n"
    yield "| fault | kind | what was done wrong | seen in | killed by | also falls | unchecked |"
    yield "|---|---|---|---|---|---|---|"
    for name, row in rows.items():
        need = NEEDS.get(row["clause"])
        killer = f"`{row['clause']}`" + (f" ({need})" if need else "")
        cells = [name, row["kind"], row["mechanism"], row["source"], killer, _join(row["companions"])]
        yield "| " + " | ".join(cells) + f" | {len(row['errored']) or ''} |"
    yield ""
    if stage in NOTES:
        yield NOTES[stage] + "\n"
    yield from _grid(stage, rows)


def _grid(stage: str, rows: Mapping[str, Row]) -> Iterator[str]:
    """Draw every fault against every clause."""
    clauses = [item.id for item in judging_clauses(stage)]
    width = max(map(len, rows))
    yield "`K` its clause, `x` another that fails, `?` could not be checked, `-` does not apply, `.` passed:\n"
    yield "```text"
    yield from (f"{'':{width}}  {'|' * at}+- {clause}" for at, clause in enumerate(clauses))
    for name, row in rows.items():
        yield f"{name:{width}}  " + "".join(_letter(row, clause) for clause in clauses)
    yield "```\n"


def _letter(row: Row, clause: str) -> str:
    if clause in row["failed"]:
        return "K" if clause == row["clause"] else "x"
    return "?" if clause in row["errored"] else "-" if clause in row["skipped"] else "."


def _clauses(rows: Mapping[str, Row]) -> Iterator[str]:
    yield "## Which faults each clause kills\n"
    yield "| clause | level | named for | falls along with |\n|---|---|---|---|"
    for item in CLAUSES:
        named = [name for name, row in rows.items() if row["clause"] == item.id]
        along = sum(item.id in row["failed"] for row in rows.values()) - len(named)
        yield f"| `{item.id}` | {item.level} | {_join(named)} | {along or ''} |"


def _join(items: Iterable[str]) -> str:
    return ", ".join(items)
