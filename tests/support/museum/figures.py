"""The measured sensitivity, as it is kept and told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.subjects import Options
from support.museum.sensitivity import SIZES, UNMEASURED
from support.museum.sensitivity.chances import DRAWS as CHANCE_DRAWS
from support.museum.sensitivity.chances import FILES, SHARES, find_chances
from support.museum.sensitivity.size import DRAWS, Size, measure

KEPT = Path(__file__).resolve().parents[2] / "faults" / "sensitivity.json"
COMMAND = "python tests/benchmarks/sensitivity.py"
DEPENDABLE = 0.9
"""Share of other draws from which on a size counts as caught, whatever is drawn."""
THIS_DRAW = "at this draw only"

Figures = dict[str, Any]


def measure_all(contract: Contract) -> Figures:
    """Measure every size, and the chances of every share."""
    sizes = [measure_size(size, contract) for size in SIZES]
    chances = [
        {
            "share": share,
            "anywhere": find_chances(share, contiguous=False),
            "in one stretch": find_chances(share, contiguous=True),
        }
        for share in SHARES
    ]
    return {"command": COMMAND, "sizes": sizes, "chances": chances}


def measure_size(size: Size, contract: Contract) -> Figures:
    """Measure one size, and in which share of other draws it is caught; no share where nothing is drawn."""
    low, high = (round(found, 6) for found in measure(size, contract))
    kept = {"what": size.what, "clause": size.clause, "passes": low, "fails": high}
    return kept | {"caught": size.share_caught(contract, high)} if size.drawn else kept


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
    yield (
        f"Measured on the embedded default in bfloat16 by `{figures['command']}` (`--write` keeps them here): one draw "
        "of the fault is halved between a size that passes and one that fails, to a hundredth of its range. "
        f"The last column draws the fault {DRAWS} times more at the size that fails (other noise, rows, rounds) and "
        "says how many of those fail too; it is empty where nothing is drawn. "
        f"**{THIS_DRAW.capitalize()}**: fewer than {DEPENDABLE:.0%} of them do. That size is one draw's luck and no "
        "size that is caught dependably, which is larger and was not measured.\n\n"
        "A server's faults are put into recorded evidence: a sound stand-in was asked over sockets once, and its rows "
        "are held against the target again. It computes in float32, whatever dtype it says.\n"
    )
    yield (
        f"| size of the fault | clause | one draw passes at | the same draw fails at | of {DRAWS} other draws at the "
        "size that fails, caught |\n|---|---|---|---|---|"
    )
    yield from map(_tell_size, figures["sizes"])
    yield "\nNumeric clauses without a figure:\n"
    yield from (f"- `{clause}`: {why}" for clause, why in sorted(UNMEASURED.items()))
    yield (
        f"\nA scan reads {defaults.sampled_files} files by default, one from each of as many stretches, and holds "
        f"{defaults.probes} of them against the target; `--scan full` reads all. How often a share of {FILES:,} files "
        f"that are bad is met ({CHANCE_DRAWS} draws each):\n"
    )
    yield "| bad files | read, anywhere | read, in one stretch | held against the target, anywhere | in one stretch |"
    yield "|---|---|---|---|---|"
    for row in figures["chances"]:
        (seen, probed), (seen_at_once, probed_at_once) = row["anywhere"], row["in one stretch"]
        yield f"| {row['share']:.1%} | {seen:.1%} | {seen_at_once:.1%} | {probed:.1%} | {probed_at_once:.1%} |"
    yield ""


def _tell_size(size: Figures) -> str:
    caught = size.get("caught")
    share = "" if caught is None else f"{caught:.0%}"
    mark = "" if caught is None or caught >= DEPENDABLE else f", {THIS_DRAW}"
    return f"| {size['what']} | `{size['clause']}` | {size['passes']:.3g} | {size['fails']:.3g}{mark} | {share} |"
