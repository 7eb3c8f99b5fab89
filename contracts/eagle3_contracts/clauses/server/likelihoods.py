"""The log-probabilities served, held against the reference target's (``server.logprobs``)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eagle3_contracts.clauses.bounds import LEAST_TOKENS
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.asking import Answered, find_predictions
from eagle3_contracts.clauses.server.precision import governing_served
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.tolerances import Governing
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServedPrediction, ServerEvidence, TokenLogprobs
from eagle3_contracts.findings import Finding, Rung, Verdict, Where
from eagle3_contracts.registry import Clause

SAME_MODEL = 0.5
"""Share of first choices below which two models have nothing in common (a wrong tensor of one model: 96 %)."""

_TOP = 10
"""The reference's most likely tokens that are compared, as a contract's ``logprob_max`` is defined."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """One position: the largest difference on common ids, KL, and whether the first choices are the same.

    ``generated``: it is one of the text that was generated, which another forward computes than the prompt's.
    """

    place: str
    position: int
    generated: bool
    largest: float
    kl: float
    agrees: bool


@dataclass(frozen=True, slots=True)
class Likelihoods:
    """All positions together. ``largest``: median over positions; ``kl``: mean. ``blank``: positions without numbers.

    ``recorded``: the reference is a golden recording. ``among``: the positions that the median is of: all, or those of
    the text generated where they alone leave the tolerance.
    """

    positions: int
    blank: int
    largest: float
    worst: _Gap
    kl: float
    agreement: float
    governing: Governing
    recorded: bool
    among: str = "positions"

    @property
    def distance(self) -> float:
        """The larger of the two distances; the same bound holds for both."""
        return max(self.largest, self.kl)

    @property
    def within(self) -> bool:
        """Tell whether the tolerance holds."""
        return self.distance <= self.governing.logprob

    @property
    def another_model(self) -> bool:
        """Tell whether these are no other numbers for the same choices but other choices."""
        return not self.within and self.agreement < SAME_MODEL

    @property
    def told(self) -> str:
        """Say the numbers."""
        blank = f", {self.blank} without numbers left out" if self.blank else ""
        return (
            f"{say_count(self.positions, 'position')}{blank}: off by {self.largest:.3g} in the median over "
            f"{self.among} of the largest difference, {self.worst.largest:.3g} at most ({self.worst.place}), "
            f"KL {self.kl:.3g}, first choices agree at {self.agreement:.0%}"
        )


@names_stand_ins
def check_logprobs(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if the largest difference, in the median over positions, or the mean KL leaves the tolerance."""
    numbers = measure_likelihoods(contract, evidence)
    if isinstance(numbers, Obstacle):
        return [numbers.finding(clause, evidence.subject)]
    bound, dtype = numbers.governing.logprob, numbers.governing.dtype
    whose = "the golden recording's" if numbers.recorded else "the reference target's"
    return [
        clause.find(
            Verdict.PASSED if numbers.within else Verdict.FAILED,
            evidence.subject,
            observed=numbers.told,
            expected=f"log-probabilities within {bound:.3g} of {whose} ({dtype})",
            where=Where() if numbers.within else Where(token=numbers.worst.position),
            rung=Rung.FULL,
            measure=numbers.distance,
            bound=bound,
            hint="" if numbers.within else _hint(contract, numbers),
        )
    ]


def _hint(contract: Contract, numbers: Likelihoods) -> str:
    if numbers.another_model:
        return (
            f"these are another model's numbers: serve {contract.target.model}, in the revision that the contract "
            "names, and see server.target"
        )
    return (
        f"the same choices, other numbers: another revision, a quantised target or KV cache, another attention backend "
        f"({numbers.governing.dtype} is what the server says it computes in), logit_scale or logit_softcap; agreement "
        "of choices is no proof"
    )


def measure_likelihoods(contract: Contract, evidence: ServerEvidence) -> Likelihoods | Obstacle:
    """Compare every position that reference and server have in common, or say why that is not possible."""
    known = find_predictions(evidence)
    if isinstance(known, Obstacle):
        return known
    governing = governing_served(contract, evidence)
    if isinstance(governing, Obstacle):
        return governing
    found = [gap for item, prediction in known for gap in _compare_answer(item, prediction)]
    gaps = [gap for gap in found if gap is not None]
    if len(gaps) < LEAST_TOKENS:
        return Obstacle(
            f"{say_count(len(gaps), 'position')} with log-probabilities ({len(found) - len(gaps)} without numbers); a "
            f"median needs {LEAST_TOKENS}",
            "ask a server that returns log-probabilities of prompts (return_logprob, top_logprobs_num)",
        )
    largest, among = _median(gaps), "positions"
    generated = [gap for gap in gaps if gap.generated]
    if len(generated) >= LEAST_TOKENS and largest <= governing.logprob < _median(generated):
        largest, among = _median(generated), "positions of generated text"
    return Likelihoods(
        positions=len(gaps),
        blank=len(found) - len(gaps),
        largest=largest,
        worst=max(gaps, key=lambda gap: gap.largest),
        kl=float(np.mean([gap.kl for gap in gaps])),
        agreement=float(np.mean([gap.agrees for gap in gaps])),
        governing=governing,
        recorded=any(prediction.recorded for _, prediction in known),
        among=among,
    )


def _median(gaps: list[_Gap]) -> float:
    return float(np.median([gap.largest for gap in gaps]))


def common_length(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Count the tokens at the beginning that two texts have in common."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _compare_answer(item: Answered, prediction: ServedPrediction) -> Iterator[_Gap | None]:
    """Give each comparable position's gap, None for one without numbers; behind a parting of texts nothing is."""
    prompt = len(item.probe.token_ids)
    last = prompt - 1 + common_length(item.answer.output_ids, prediction.output_ids)
    for row in item.answer.logprobs:
        if 0 <= row.position <= min(last, len(prediction.top_ids) - 1):
            yield _compare_position(item.name, row, prediction, generated=row.position >= prompt - 1)


def _compare_position(name: str, row: TokenLogprobs, prediction: ServedPrediction, *, generated: bool) -> _Gap | None:
    pairs = [(row.token_id, row.logprob), *zip(row.top_ids, row.top_logprobs, strict=False)]
    given = [(token, value) for token, value in pairs if value is not None and math.isfinite(value)]
    if not given:
        return None
    served = dict(given)
    ids, logprobs = prediction.top_ids[row.position], prediction.top_logprobs[row.position]
    order = np.argsort(-logprobs)[:_TOP]
    reference = {int(ids[at]): float(logprobs[at]) for at in order if math.isfinite(logprobs[at])}
    place = f"{name}, row {row.position}"
    common = [token for token in reference if token in served]
    if not common:
        # The token of the text alone, where it is none of the likely ones, is no other model's choice.
        return _Gap(place, row.position, generated, math.inf, math.inf, agrees=False) if row.top_ids else None
    # A token may be given twice, in the text and among the most likely: each is held against the reference.
    largest = max(abs(value - reference[token]) for token, value in given if token in reference)
    agrees = max(served, key=lambda token: served[token]) == max(reference, key=lambda token: reference[token])
    return _Gap(place, row.position, generated, largest, _divergence(reference, served, common), agrees)


def _divergence(reference: dict[int, float], served: dict[int, float], common: list[int]) -> float:
    """Give KL over the common ids and one bin for all others, in nats: a lower bound of the true one."""
    p = np.exp([reference[token] for token in common])
    q = np.exp([served[token] for token in common])
    rest_p, rest_q = max(1 - float(p.sum()), 1e-9), max(1 - float(q.sum()), 1e-9)
    return max(float((p * np.log(p / q)).sum()) + rest_p * math.log(rest_p / rest_q), 0.0)
