"""What the mutants came to: kept in ``tests/faults/mutants.json``, told in ``tests/faults/MUTANTS.md``.

``tests/faults/survivors.toml`` says of each that lived why it is harmless, or what would have to be tested.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support.mutants.trying import KILLED, PACKAGE, Trial

FOLDER = Path(__file__).resolve().parents[2] / "faults"
RECORD, REASONS, PAGE = FOLDER / "mutants.json", FOLDER / "survivors.toml", FOLDER / "MUTANTS.md"
LEAST = 0.85
"""The least share of mutants that the tests must kill."""

Record = Mapping[str, Any]


def describe_trial(trial: Trial, seed: int, **facts: str) -> Record:
    """Give the record of a trial: ``facts``, counts of each package by status, and what lived with its change."""
    tried: dict[str, Counter[str]] = {}
    for name, status in trial.statuses.items():
        tried.setdefault(name.split(".")[1], Counter())[status] += 1
    return {
        **facts,
        "seed": seed,
        "mutants": trial.mutants,
        "tried": {part: dict(sorted(counts.items())) for part, counts in sorted(tried.items())},
        "survivors": {name: list(_changed_lines(trial.diffs[name])) for name in sorted(trial.survivors)},
    }


def _changed_lines(diff: str) -> Iterator[str]:
    for line in diff.splitlines():
        if line[:1] in "+-" and not line.startswith(("+++", "---")):
            yield f"{line[0]} {line[1:].strip()}"


def score(record: Record, part: str | None = None) -> tuple[int, int]:
    """Give how many mutants of a part (of all) were killed, and how many were tried."""
    counts: Counter[str] = Counter()
    for name, statuses in record["tried"].items():
        if part in (None, name):
            counts.update(statuses)
    return sum(counts[status] for status in KILLED), counts.total()


def bound_share(killed: int, tried: int) -> tuple[float, float]:
    """Give the 95 % interval (Wilson) of the share killed of all mutants, of which those tried are a random sample."""
    z, share = 1.96, killed / tried
    middle, spread = share + z * z / (2 * tried), z * math.sqrt(share * (1 - share) / tried + (z / (2 * tried)) ** 2)
    return (middle - spread) / (1 + z * z / tried), (middle + spread) / (1 + z * z / tried)


def read_record() -> Record:
    """Read the kept record."""
    record: Record = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def read_reasons() -> dict[str, str]:
    """Read why each that lived is let live, by its name without the package; nothing if no file says so."""
    if not REASONS.is_file():
        return {}
    reasons: dict[str, str] = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    return reasons


def write_record(record: Record) -> None:
    """Keep a record."""
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def tell(record: Record) -> Iterator[str]:
    """Tell the share killed, of each package and of all."""
    yield "| part | tried | killed | share | 95 % interval |"
    yield "|---|---|---|---|---|"
    for part in (*record["tried"], None):
        killed, tried = score(record, part)
        low, high = bound_share(killed, tried)
        yield f"| {part or 'all'} | {tried} | {killed} | {killed / tried:.1%} | {low:.1%} to {high:.1%} |"


HEAD = """\
# Mutants of the clauses

The tests of the clauses are tested themselves: {tool} changes the code of `clauses`, `dialects` and `numerics` in one
place, and a test must fail. Of {mutants:,} such changes at commit {commit}, {tried:,} were tried: a random sample (seed
{seed}), and the small part `numerics` as a whole. Each was tried by the tests that judge evidence
(`tests/support/mutants/trying.py` lists them; the faults of this folder, which would kill more, were left out for their
time). Module constants, properties and decorated functions (among them the checks of the `server` stage, but not what
they call) are not changed. `tox -e mutants` tries all this again and writes this page; `-- --seed 2` draws anew.
"""


def write_page(record: Record, reasons: Mapping[str, str]) -> str:
    """Write the page: the shares, and every mutant that lived, with the reason why."""
    _, tried = score(record)
    lived = f"## The {len(record['survivors'])} that lived"
    parts = [HEAD.format(**record | {"tried": tried}), *tell(record), "", lived, ""]
    for name, change in record["survivors"].items():
        short = name.removeprefix(f"{PACKAGE}.")
        parts += [f"`{short}`: {reasons.get(short, 'no reason is given')}", "", "```diff", *change, "```", ""]
    return "\n".join(parts).rstrip() + "\n"
