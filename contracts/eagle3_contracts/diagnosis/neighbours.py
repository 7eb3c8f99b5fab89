"""What a diagnosis cannot tell apart, which of it is preferred, and what decides instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eagle3_contracts.diagnosis.case import Case
from eagle3_contracts.diagnosis.search import judges_recurrence, variations
from eagle3_contracts.diagnosis.verdict import Neighbour
from eagle3_contracts.diagnosis.wiring import WORDS, Hypothesis, describe_value

CLEARLY_WORSE = 0.3
"""Nats per row on the coarse rows beyond which a neighbour is not looked at again."""
_TENSORS_DECIDE = (
    "boundaries next to each other differ little in what a drafter predicts; which one a plane is, is decided on "
    "tensors: capture.boundary, dataset.boundary"
)


def prefer_named(case: Case, found: Hypothesis) -> Hypothesis:
    """Put a plane that the contract names where the search took one that it cannot be told apart from.

    What a drafter was trained on is sooner a plane that somebody captured than one beside it; the other one then
    stands among the neighbours.
    """
    for slot, tap in enumerate(found.wiring.taps):
        if tap in case.space.named:
            continue
        taps = found.wiring.taps
        others = [found.change("taps", (*taps[:slot], named, *taps[slot + 1 :])) for named in case.space.named]
        comparisons = [(case.compare(case.holding, "taps", found, other), other) for other in others]
        equal = [(comparison.gain, other) for comparison, other in comparisons if not comparison.beyond_doubt]
        found = min(equal, key=lambda pair: pair[0], default=(0.0, found))[1]
    return found


def find_neighbours(case: Case) -> Iterator[Neighbour]:
    """Yield the changes of one thing that are not worse beyond doubt, on either half."""
    recurrence = judges_recurrence(case.seeking, case.found)
    for name, other in variations(case.found, case.space):
        if name == "recurrent" and not recurrence:
            continue
        rough = [float(case.coarse.score(item).gain.mean()) for item in (case.found, other)]
        if name not in {"prediction", "recurrent"} and rough[0] - rough[1] > CLEARLY_WORSE:
            continue
        if case.compare(case.seeking, name, case.found, other).beyond_doubt:
            continue
        comparison = case.compare(case.holding, name, case.found, other)
        if not comparison.beyond_doubt:
            value = describe_value(case.contract, name, other.get(name))
            yield Neighbour(WORDS[name], value, -comparison.gain, str(comparison))


def say_planes(case: Case, neighbours: Sequence[Neighbour]) -> Iterator[str]:
    """Say which planes fit about as well, and what decides: nothing that a drafter predicts tells neighbours surely."""
    near = max((item for item in neighbours if item.name == WORDS["taps"]), key=lambda item: item.gain, default=None)
    if near is not None:
        yield f"not told apart from {near.value}: what was found is {near.sure}"
    if near is not None or _adjacent(case):
        yield _TENSORS_DECIDE


def _adjacent(case: Case) -> bool:
    """Tell whether what was found is other planes, each at most one boundary away from the declared one."""
    pairs = list(zip(case.declared.wiring.taps, case.found.wiring.taps, strict=True))
    return any(one != other for one, other in pairs) and all(
        abs(one.boundary - other.boundary) <= 1 for one, other in pairs
    )
