"""The measured sensitivity, as it is kept and told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.subjects import Options
from support.museum.sensitivity import DRAWS, FILES, SHARES, SIZES, find_chances, measure

KEPT = Path(__file__).resolve().parents[2] / "faults" / "sensitivity.json"
COMMAND = "python tests/benchmarks/sensitivity.py"

Figures = dict[str, Any]


def measure_all(contract: Contract) -> Figures:
    """Measure every size, and the chances of every share."""
    sizes = [
        {"what": size.what, "clause": size.clause, "passes": round(low, 4), "fails": round(high, 4)}
        for size in SIZES
        for low, high in [measure(size, contract)]
    ]
    chances = [
        {
            "share": share,
            "anywhere": find_chances(share, contiguous=False),
            "in one stretch": find_chances(share, contiguous=True),
        }
        for share in SHARES
    ]
    return {"command": COMMAND, "sizes": sizes, "chances": chances}


def write_figures(figures: Figures) -> None:
    """Keep figures for the page."""
    KEPT.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def read_figures() -> Figures:
    """Give the figures that are kept."""
    figures: Figures = json.loads(KEPT.read_text(encoding="utf-8"))
    return figures


def tell_figures(figures: Figures) -> Iterator[str]:
    """Write figures out as a part of the page."""
    defaults = Options()
    yield "## The smallest fault that is caught\n"
    yield f"Measured on the embedded default in bfloat16 by `{figures['command']}` (`--write` keeps them here):\n"
    yield "| size of the fault | clause | passes at | fails at |\n|---|---|---|---|"
    for size in figures["sizes"]:
        yield f"| {size['what']} | `{size['clause']}` | {size['passes']:g} | {size['fails']:g} |"
    yield (
        f"\nA scan reads {defaults.sampled_files} files by default, one from each of as many stretches, and holds "
        f"{defaults.probes} of them against the target; `--scan full` reads all. How often a share of {FILES:,} files "
        f"that are bad is met ({DRAWS} draws each):\n"
    )
    yield "| bad files | read, anywhere | read, in one stretch | held against the target, anywhere | in one stretch |"
    yield "|---|---|---|---|---|"
    for row in figures["chances"]:
        (seen, probed), (seen_at_once, probed_at_once) = row["anywhere"], row["in one stretch"]
        yield f"| {row['share']:.1%} | {seen:.1%} | {seen_at_once:.1%} | {probed:.1%} | {probed_at_once:.1%} |"
    yield ""
