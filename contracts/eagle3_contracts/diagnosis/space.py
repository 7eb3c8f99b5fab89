"""What a search may try: the planes at hand, the values of flags that a drafter's tensors allow, other targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis.wiring import Hypothesis, Prediction, Wiring, apply_wiring, tap_of
from eagle3_contracts.drafter import expected_tensors

if TYPE_CHECKING:
    from torch import Tensor

THETAS = (1e4, 5e4, 5e5, 1e6, 5e6, 1e7)
"""Bases in use: 10,000 (Llama 2, and what SpecForge 0.1.0 trained with whatever it was told), 50,000 (Kimi K2),
500,000 (Llama 3), 1,000,000 (Qwen 3), 5,000,000 and 10,000,000 (long-context models)."""

_VALUES: Mapping[str, tuple[Any, ...]] = {
    "token": (0, 1, 2),
    "d2t": ("offset", "absolute", "none"),
    "theta": THETAS,
    "layout": ("half", "interleaved"),
    "residual": ("pre_norm", "post_norm"),
    "head_norm": (True, False),
    "embedding_norm": (True, False),
    "hidden_norm": ("own", "chained"),
    "input_norm": ("none", "joint", "per_plane"),
    "recurrent": ("pre_norm", "post_norm"),
}


@dataclass(frozen=True, slots=True)
class Space:
    """What may be tried. ``taps``: all planes at hand; ``named``: those that the contract stores, and both ends.

    ``predictions``: the right one, and what else the drafter may have learned. ``options``: values of every flag
    or number by name, the declared one among them.
    """

    taps: tuple[Tap, ...]
    named: tuple[Tap, ...]
    predictions: tuple[Prediction, ...]
    options: Mapping[str, tuple[Any, ...]]


def open_space(
    contract: Contract,
    weights: Mapping[str, Tensor],
    declared: Wiring,
    taps: Sequence[Tap],
    predictions: Sequence[Prediction],
) -> Space:
    """Give the space around a declared wiring, of the planes at hand."""
    ends = (Tap(0), Tap(contract.target.num_hidden_layers, "pre_norm"))
    named = dict.fromkeys((*declared.taps, *map(tap_of, contract.stored_planes()), *ends))
    return Space(
        tuple(taps),
        tuple(tap for tap in named if tap in taps),
        tuple(predictions),
        _options(contract, weights, declared),
    )


def _options(contract: Contract, weights: Mapping[str, Tensor], declared: Wiring) -> dict[str, tuple[Any, ...]]:
    """List the values of every flag for which the drafter has the tensors, in their shapes."""
    start = Hypothesis(declared, Prediction(None))
    return {
        name: tuple(
            value
            for value in dict.fromkeys((start.get(name), *values))
            if _has_tensors(contract, weights, start.change(name, value).wiring)
        )
        for name, values in _VALUES.items()
    }


def _has_tensors(contract: Contract, weights: Mapping[str, Tensor], wiring: Wiring) -> bool:
    expected = expected_tensors(apply_wiring(contract, wiring))
    return all(name in weights and tuple(weights[name].shape) == item.shape for name, item in expected.items())
