"""Accuracy per step, against two things that are not the same: the target's own choice, and the text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eagle3_contracts.accuracy.passages import Passage
from eagle3_contracts.drafter import ReferenceDrafter

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class StepAccuracy:
    """One step, fed with the text's tokens as in training; shares of all rows, in the draft vocabulary or not.

    ``against_target``: the drafter's first choice is the target's (what greedy verification accepts);
    ``against_text``: it is the token that follows. ``log_likelihood``: of the target's choice, nats per row that the
    draft vocabulary covers, a ``covered`` share of ``rows``. The target's figures are None where its choice is not
    known.
    """

    step: int
    rows: int
    against_text: float
    against_target: float | None
    log_likelihood: float | None
    covered: float | None


@dataclass(slots=True)
class _Count:
    rows: int = 0
    text_rows: int = 0
    text: int = 0
    target: int = 0
    covered: int = 0
    likelihood: float = 0.0
    known: bool = field(default=True)


def measure_steps(drafter: ReferenceDrafter, passages: Iterable[Passage], steps: int) -> tuple[StepAccuracy, ...]:
    """Measure the first ``steps`` steps; ``ValueError`` if no passage is long enough for the last of them."""
    import torch

    counts = [_Count() for _ in range(steps)]
    ids = drafter.target_ids()
    with torch.inference_mode():
        for passage in passages:
            if len(passage.tokens) < 2:
                continue
            done = drafter.forward(passage.fc_input[:-1], passage.tokens[1:], steps=steps)
            for step, (one, count) in enumerate(zip(done, counts, strict=True)):
                _count_step(passage, one.logits, ids, step, count)
    if not counts[-1].text_rows:
        raise ValueError(f"no passage has more than {steps + 1} tokens, so that step {steps - 1} drafts nothing known")
    return tuple(_summarise(step, count) for step, count in enumerate(counts))


def _count_step(passage: Passage, logits: Tensor, ids: Tensor, step: int, count: _Count) -> None:
    import torch

    drafted = ids[logits.argmax(-1)]
    text = passage.tokens[step + 2 :]
    count.text_rows += len(text)
    count.text += int((drafted[: len(text)] == text).sum())
    if passage.choices is None:
        count.known = False
        return
    choices = passage.choices[step + 1 :]
    count.rows += len(choices)
    count.target += int((drafted[: len(choices)] == choices).sum())
    hit = choices[:, None] == ids
    covered = hit.any(-1)
    rows = torch.nonzero(covered)[:, 0]
    likelihood = logits[rows].log_softmax(-1)[torch.arange(len(rows)), hit[rows].int().argmax(-1)]
    count.covered += len(rows)
    count.likelihood += float(likelihood.sum())


def _summarise(step: int, count: _Count) -> StepAccuracy:
    text = count.text / count.text_rows
    if not count.known:
        return StepAccuracy(step, count.text_rows, text, None, None, None)
    likelihood = count.likelihood / count.covered if count.covered else None
    return StepAccuracy(step, count.rows, text, count.target / count.rows, likelihood, count.covered / count.rows)
