"""Samples to diagnose with: token ids, and every plane of them that is at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eagle3_contracts.boundaries import Tap, tap_at
from eagle3_contracts.diagnosis.wiring import Prediction

if TYPE_CHECKING:
    from eagle3_contracts.evidence import Array, ReferenceStates
    from eagle3_contracts.subjects.targets import Target

SHORTEST = 8
"""Tokens of a sample that is worth a row: shorter ones are left out."""

Tokens = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DraftSample:
    """One sequence: ``token_ids`` [T], and by tap the planes at hand, [T, Ht] float32."""

    token_ids: Tokens
    planes: Mapping[Tap, Array]


def sample_from_states(states: ReferenceStates) -> DraftSample:
    """Give a sample with every boundary that the target computes, and the final state after the norm."""
    layers = len(states.boundaries) - 1
    planes = {tap_at(boundary, layers): plane for boundary, plane in enumerate(states.boundaries)}
    return DraftSample(states.token_ids, planes | {Tap(layers, "post_norm"): states.final})


def shared_taps(samples: Sequence[DraftSample]) -> tuple[Tap, ...]:
    """List the taps that every sample has, in rising order."""
    return tuple(sorted(frozenset.intersection(*(frozenset(sample.planes) for sample in samples))))


def split_samples(samples: Sequence[DraftSample]) -> tuple[list[DraftSample], list[DraftSample]]:
    """Give the half to search on and the half to confirm on, of about as many tokens: every other one by length."""
    ordered = sorted(samples, key=lambda sample: -len(sample.token_ids))
    return ordered[1::2], ordered[0::2]


def find_predictions(
    samples: Sequence[DraftSample], target: Target | None, layers: int
) -> tuple[Prediction, tuple[Prediction, ...]]:
    """Give what a drafter of this target should predict, and what else it may have learned.

    What the target itself will choose: the argmax over its final state. Without norm, head or final state at hand
    the text stands in for it, and nothing else can be asked.
    """
    taps = shared_taps(samples)
    before, after = Tap(layers, "pre_norm"), Tap(layers, "post_norm")
    if target is None or not {"norm", "head"} <= target.holds or not {before, after} & set(taps):
        return Prediction(None), ()
    right = Prediction(before) if before in taps else Prediction(after, norms=0)
    others = [Prediction(tap, norms) for tap in taps if tap.state != "post_norm" for norms in (0, 1)]
    others += [Prediction(right.source, right.norms + 1), *(Prediction(right.source, right.norms, s) for s in (0, 2))]
    return right, tuple(item for item in dict.fromkeys(others) if item != right)


def predicted_tokens(
    samples: Sequence[DraftSample], predictions: Sequence[Prediction], target: Target | None
) -> Iterator[dict[Prediction, Tokens]]:
    """Give for each sample what each prediction says after each token, [T]; the text's last is -1 (unknown)."""
    for sample in samples:
        known: dict[tuple[Tap | None, int], Tokens] = {}
        for prediction in predictions:
            key = (prediction.source, prediction.norms)
            if key not in known:
                known[key] = _predict(sample, prediction, target)
        yield {prediction: known[prediction.source, prediction.norms] for prediction in predictions}


def _predict(sample: DraftSample, prediction: Prediction, target: Target | None) -> Tokens:
    if prediction.source is None or target is None:
        return np.append(sample.token_ids[1:], -1)
    state = sample.planes[prediction.source]
    for _ in range(prediction.norms):
        state = target.final_norm(state)
    return np.asarray(target.logits(state).argmax(axis=-1), np.int64)
