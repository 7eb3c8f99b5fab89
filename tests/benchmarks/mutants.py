"""Measure how many mutants of ``clauses``, ``dialects`` and ``numerics`` the tests kill.

Run it by ``tox -e mutants``, which installs mutmut: ``-- --sample 1000 --seed 1`` are its defaults, ``--work FOLDER``
keeps the scratch tree for another run, ``--only NAME...`` tries single ones and keeps nothing. Otherwise the figures go
to ``tests/faults/mutants.json`` and ``tests/faults/MUTANTS.md``. Exit status 1: fewer were killed than must be.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.mutants.record import LEAST, PAGE, describe_trial, read_reasons, score, tell, write_page, write_record
from support.mutants.trying import name_commit, try_mutants


def main() -> int:
    """Try the mutants, print the shares, keep the record."""
    parser = argparse.ArgumentParser(description="Try a sample of mutants of the clauses.")
    parser.add_argument("--sample", type=int, default=1000, help="how many of all are tried")
    parser.add_argument("--seed", type=int, default=1, help="of the random sample")
    parser.add_argument("--children", type=int, default=2, help="processes at a time")
    parser.add_argument("--work", type=Path, help="scratch folder, kept; without it, a temporary one")
    parser.add_argument("--only", nargs="*", default=(), help="names of mutants, as mutmut gives them")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = asked.work or Path(scratch)
        trial = try_mutants(work, sample=asked.sample, seed=asked.seed, children=asked.children, only=asked.only)
    record = describe_trial(trial, asked.seed, tool=f"mutmut {version('mutmut')}", commit=name_commit())
    sys.stdout.write("\n".join([*tell(record), *(f"{item}: lived" for item in record["survivors"])]) + "\n")
    if not asked.only:
        write_record(record)
        PAGE.write_text(write_page(record, read_reasons()), encoding="utf-8")
    killed, tried = score(record)
    return int(killed < LEAST * tried)


if __name__ == "__main__":
    sys.exit(main())
