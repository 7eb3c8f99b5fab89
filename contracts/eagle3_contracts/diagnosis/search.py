"""The search for the hypothesis that explains a drafter best: one dimension after the other, planes slot by slot.

A product over all boundaries would try 62 x 62 x 62 wirings of a 61-layer target; slot by slot it is 3 x 62, and on
SmolLM2 that peaked at the truth. Where it starts matters: all slots wrong at once is a valley, so the orders of the
planes at hand come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, permutations

from eagle3_contracts.diagnosis.scoring import Scorer
from eagle3_contracts.diagnosis.space import Space
from eagle3_contracts.diagnosis.sureness import LEAST_SHARE
from eagle3_contracts.diagnosis.wiring import Hypothesis

ROUNDS = 6
LEAST_STEP = 0.003
"""Nats per row that a move of the search must gain; less is noise, and the declared value stays."""
LATER_STEPS = 3
_STARTS = 60
_FINALISTS = 5

Move = Callable[[Hypothesis], Iterable[Hypothesis]]


class Search:
    """Looks for the best hypothesis. ``coarse``: a few rows, on which many are told apart; ``fine``: all of them."""

    def __init__(self, coarse: Scorer, fine: Scorer, space: Space) -> None:
        self.coarse, self.fine, self.space = coarse, fine, space

    def run(self, declared: Hypothesis) -> Hypothesis:
        """Search for the wiring, then ask what else the drafter may have learned, and search again if it is that."""
        best = self.find_wiring(declared)
        other = max((self._learned(now) for now in (declared, best)), key=self._agreement)
        if other.prediction == declared.prediction or self._agreement(other) < self._agreement(best) + LEAST_SHARE:
            return best
        again = self.find_wiring(declared.change("prediction", other.prediction))
        return max((again, best), key=self._agreement)

    def find_wiring(self, declared: Hypothesis) -> Hypothesis:
        """Start from the declared wiring: first the move that gains most, then every dimension, until none gains.

        What a later step gets is decided last, by later steps, since step 0 does not see it.
        """
        broad, slots = self._broad_moves(), [self._slot_move(slot) for slot in range(len(declared.wiring.taps))]
        first = max((self._best(declared, move) for move in broad), key=self._mean)
        best = self._prefer(declared, first)
        for _ in range(ROUNDS):
            before = best
            for move in [*broad, *slots, _orders]:
                best = self._prefer(best, self._best(best, move))
            if best == before:
                break
        return self._decide_recurrence(best)

    def _broad_moves(self) -> list[Move]:
        moves: list[Move] = [self._starts]
        return moves + [
            _option_move(name, values) for name, values in self.space.options.items() if name != "recurrent"
        ]

    def _learned(self, now: Hypothesis) -> Hypothesis:
        """Give the prediction that the drafted tokens agree with most."""
        return max((now.change("prediction", item) for item in self.space.predictions), key=self._agreement)

    def _agreement(self, hypothesis: Hypothesis) -> float:
        return float(self.fine.score(hypothesis).correct.mean())

    def _starts(self, now: Hypothesis) -> Iterator[Hypothesis]:
        """Give the ordered choices of the named planes, and the present planes all moved by a few boundaries."""
        count, taps = len(now.wiring.taps), self.space.taps
        for chosen in islice(permutations(self.space.named, count), _STARTS):
            yield now.change("taps", chosen)
        for step in (-2, -1, 1, 2):
            places = [taps.index(tap) + step for tap in now.wiring.taps if tap in taps]
            if len(places) == count and all(0 <= place < len(taps) for place in places):
                yield now.change("taps", tuple(taps[place] for place in places))

    def _slot_move(self, slot: int) -> Move:
        return lambda now: change_slot(now, self.space, slot)

    def _best(self, now: Hypothesis, move: Move) -> Hypothesis:
        """Give the best of a move: of many, those that are best on the few rows are scored on all."""
        tried = list(move(now))
        if len(tried) > _FINALISTS:
            tried.sort(key=lambda found: -float(self.coarse.score(found).gain.mean()))
        return max(tried[:_FINALISTS], key=self._mean, default=now)

    def _prefer(self, now: Hypothesis, found: Hypothesis) -> Hypothesis:
        return found if self._mean(found) > self._mean(now) + LEAST_STEP else now

    def _mean(self, hypothesis: Hypothesis) -> float:
        return float(self.fine.score(hypothesis).gain.mean())

    def _decide_recurrence(self, best: Hypothesis) -> Hypothesis:
        """Change what the next step gets if later steps then are better, and about as good as a trained one."""
        found = max(
            (best.change("recurrent", value) for value in self.space.options["recurrent"]),
            key=lambda item: later_gain(self.fine, item),
        )
        better = later_gain(self.fine, found) > later_gain(self.fine, best) + LEAST_STEP
        return found if better and judges_recurrence(self.fine, found) else best


def later_gain(scorer: Scorer, hypothesis: Hypothesis) -> float:
    """Give the mean gain of the steps after step 0."""
    return float(scorer.score(hypothesis, LATER_STEPS).gain.mean())


def judges_recurrence(scorer: Scorer, hypothesis: Hypothesis) -> bool:
    """Tell whether later steps know at least half of what step 0 knows: a drafter trained on one step has no say."""
    return later_gain(scorer, hypothesis) >= float(scorer.score(hypothesis).gain.mean()) / 2


def _option_move(name: str, values: Iterable[object]) -> Move:
    kept = tuple(values)
    return lambda now: (now.change(name, value) for value in kept)


def change_slot(now: Hypothesis, space: Space, slot: int) -> Iterator[Hypothesis]:
    """Give the hypotheses with any plane at hand in one slot."""
    taps = now.wiring.taps
    for tap in space.taps:
        yield now.change("taps", (*taps[:slot], tap, *taps[slot + 1 :]))


def _orders(now: Hypothesis) -> Iterator[Hypothesis]:
    for taps in islice(permutations(now.wiring.taps), _STARTS):
        yield now.change("taps", taps)


def variations(hypothesis: Hypothesis, space: Space) -> Iterator[tuple[str, Hypothesis]]:
    """Give every hypothesis that differs in one dimension, with that dimension's name; one slot is one dimension."""
    for slot in range(len(hypothesis.wiring.taps)):
        yield from (("taps", other) for other in change_slot(hypothesis, space, slot) if other != hypothesis)
    for name, values in space.options.items():
        changed = (hypothesis.change(name, value) for value in values)
        yield from ((name, other) for other in changed if other != hypothesis)
    for prediction in space.predictions:
        if prediction != hypothesis.prediction:
            yield "prediction", hypothesis.change("prediction", prediction)
