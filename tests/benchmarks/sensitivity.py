"""Measure the smallest fault that numeric clauses catch, and how often a share of bad files is met.

Run it by hand: ``python tests/benchmarks/sensitivity.py`` prints a table; ``--write`` keeps the figures in
``tests/faults/sensitivity.json``, from which ``tests/faults/MATRIX.md`` tells them.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT
from support.museum.figures import measure_all, tell_figures, write_figures
from support.museum.matrix import read_matrix, write_matrix

if __name__ == "__main__":
    figures = measure_all(load_contract(CONTRACT))
    sys.stdout.write("\n".join(tell_figures(figures)))
    if "--write" in sys.argv[1:]:
        write_figures(figures)
        write_matrix(read_matrix())
