"""Measure what the tiny contract states: norms, distances between neighbours, and what each dtype costs.

    python -m eagle3_contracts.recording.calibrating

prints JSON. Fresh text of the embedded target's language is run through the numpy route (float64), and through the
torch route in each dtype; the states of the latter are rounded to that dtype and held against the former, by the same
comparison that the clauses use. ``stored`` keeps float32 arithmetic and rounds the states only.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from eagle3_contracts.contract import Contract, Plane, load_contract
from eagle3_contracts.evidence import Array, ReferenceStates, TargetComparison
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.recording.language import VOCABULARY, Language
from eagle3_contracts.recording.sequences import LANGUAGE_SEED
from eagle3_contracts.subjects.goldens import golden_root
from eagle3_contracts.subjects.targets import open_target
from eagle3_contracts.subjects.targets.comparing import compare_planes

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target

DTYPES = ("float32", "bfloat16", "float16")
_TEXT_SEED, _TEXTS, _LENGTH = 303, 40, 96


def measure(contract: Contract, folder: str) -> dict[str, Any]:
    """Give norms and neighbour distances per boundary, and the distances of correct captures per dtype."""
    language, draw = Language(LANGUAGE_SEED), random.Random(_TEXT_SEED)  # noqa: S311 (a language, no secret)
    texts = [tuple(language.sequence(_LENGTH, draw)[0]) for _ in range(_TEXTS)]
    plain = open_target(folder, contract, route="numpy")
    runs = [plain.reference(text) for text in texts]
    fast = {dtype: [_open(contract, folder, dtype).reference(text) for text in texts] for dtype in DTYPES}
    return {
        "tokens": sum(map(len, texts)),
        "norms": _norms(runs),
        "norms_of_noise": _norms([plain.reference(draw.choices(range(VOCABULARY), k=_LENGTH)) for _ in texts]),
        "neighbours": _neighbours(runs),
        "computed": {dtype: _distance(plain, contract, states, dtype) for dtype, states in fast.items()},
        "stored": {dtype: _distance(plain, contract, fast["float32"], dtype) for dtype in DTYPES[1:]},
    }


def _open(contract: Contract, folder: str, dtype: str) -> Target:
    return open_target(folder, contract, dtype, route="torch")


def _norms(runs: list[ReferenceStates]) -> dict[str, list[float]]:
    """Give for each boundary the median norm over all tokens, and the smallest and largest median of a text."""
    norms = np.stack([np.linalg.norm(_all(run), axis=-1) for run in runs])
    names = [*map(str, range(norms.shape[1] - 1)), "post_norm"]
    medians = np.median(norms, axis=-1)
    return {
        name: [
            round(float(value), 3) for value in (np.median(norms[:, at]), medians[:, at].min(), medians[:, at].max())
        ]
        for at, name in enumerate(names)
    }


def _neighbours(runs: list[ReferenceStates]) -> dict[str, float]:
    """Give for each pair of neighbours the smaller median relative L2 of one from the other."""
    states = np.concatenate([run.boundaries for run in runs], axis=1)
    return {
        f"{at}-{at + 1}": round(float(min(np.median(relative_l2(low, high)), np.median(relative_l2(high, low)))), 4)
        for at, (low, high) in enumerate(pairwise(states))
    }


def _distance(plain: Target, contract: Contract, runs: list[ReferenceStates], dtype: str) -> dict[str, float]:
    """Give the largest median and p99 of a correct plane, and the log-probabilities rebuilt from the final state."""
    layers = contract.target.num_hidden_layers
    declared = [Plane(name=f"r{k}", boundary=k, state="pre_norm" if k == layers else "raw") for k in range(layers + 1)]
    samples = ((run.token_ids, _round(run.boundaries, dtype)) for run in runs)
    comparison = compare_planes(plain, contract, samples, declared=declared)
    return dict(_summary(comparison, layers))


def _summary(comparison: TargetComparison, layers: int) -> Iterator[tuple[str, float]]:
    states = comparison.states
    if states is None:
        raise ValueError("the comparison holds no states")
    now, planes = states.shifts.index(0), np.arange(layers + 1)
    yield "relative_l2_median", _short(states.median[now, planes, planes].max())
    yield "relative_l2_p99", _short(states.p99[now, planes, planes].max())
    for item in comparison.logits:
        if item.plane == layers and item.reading == "pre_norm":
            yield "logprob_max", _short(item.logprob_max or 0.0)


def _round(states: Array, dtype: str) -> Array:
    import torch

    return np.asarray(torch.from_numpy(states).to(getattr(torch, dtype)).float().numpy(), np.float32)


def _all(run: ReferenceStates) -> Array:
    return np.concatenate([run.boundaries, run.final[None]])


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was measured, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m eagle3_contracts.recording.calibrating", description=main.__doc__)
    parser.add_argument("--contract", default="tiny-llama-eagle3")
    given = parser.parse_args(arguments)
    contract = load_contract(given.contract)
    folder = golden_root() / contract.name / contract.version / "target"
    sys.stdout.write(json.dumps(measure(contract, str(folder)), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
