"""``guard`` on batches whose parts are empty, unwritten, of other kinds or misfits: a verdict, never a crash."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch

from eagle3_contracts import StepZero
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.findings import Level, Verdict
from eagle3_contracts.guards import GuardError, guard

ROWS, HIDDEN, VOCABULARY = 40, 64, 256
Change = Callable[[StepZero], StepZero]


@cache
def contract() -> Contract:
    return load_contract(CONTRACT)


def sound() -> StepZero:
    """A batch of two documents and a row of padding, of states that norms do not know."""
    draw = torch.Generator().manual_seed(5)
    states = torch.randn(1, ROWS, 4 * HIDDEN, generator=draw)
    states[:, -1] = 0
    documents = torch.tensor([[0] * 20 + [1] * 19 + [-1]])
    return StepZero(
        fc_input=states[..., HIDDEN:],
        tokens=torch.randint(0, VOCABULARY, (1, ROWS), generator=draw),
        last_hidden=states[..., :HIDDEN],
        mask=(documents >= 0).long(),
        documents=documents,
    )


def verdicts(step: StepZero, **options: Any) -> dict[str, Verdict]:
    found = guard(step, contract(), raises=False, **options)
    return {
        item.clause: item.verdict
        for item in found
        if item.level is Level.MUST and item.verdict in {Verdict.FAILED, Verdict.ERRORED}
    }


def change(**parts: Any) -> Change:
    return lambda step: dataclasses.replace(step, **parts)


def cut(*place: Any) -> Change:
    return lambda step: StepZero(
        step.fc_input[place], step.tokens[place], step.last_hidden[place], step.mask[place], None, step.documents[place]
    )


def zero(name: str, rows: slice) -> Change:
    def spoil(step: StepZero) -> StepZero:
        part = getattr(step, name).clone()
        part[:, rows] = 0
        return dataclasses.replace(step, **{name: part})

    return spoil


EVERY = torch.ones(VOCABULARY, dtype=torch.bool)


def aim(off: int, vocabulary: torch.Tensor = EVERY, rows: int = ROWS) -> Change:
    return lambda step: dataclasses.replace(step, targets=step.tokens[:, :rows] + off, vocabulary=vocabulary)


def test_a_sound_batch_with_a_row_of_padding_passes() -> None:
    assert verdicts(sound()) == {}
    assert verdicts(aim(0)(sound())) == {}


@pytest.mark.parametrize(
    ("spoil", "clause", "verdict"),
    [
        (cut(slice(None), slice(0)), "loader.runs", Verdict.FAILED),
        (cut(slice(0)), "loader.runs", Verdict.FAILED),
        (zero("fc_input", slice(3, 6)), "dataset.zero-rows", Verdict.FAILED),
        (zero("last_hidden", slice(None)), "dataset.zero-rows", Verdict.FAILED),
        (lambda step: dataclasses.replace(step, tokens=step.tokens > 3), "loader.stored-tokens", Verdict.FAILED),
        (aim(-1000), "loader.draft-vocabulary", Verdict.FAILED),
        (aim(1000), "loader.draft-vocabulary", Verdict.FAILED),
        (aim(0, rows=ROWS - 1), "loader.draft-vocabulary", Verdict.ERRORED),
        (aim(0, EVERY[:0]), "loader.draft-vocabulary", Verdict.ERRORED),
    ],
)
def test_what_is_spoilt_is_told_by_its_clause(spoil: Change, clause: str, verdict: Verdict) -> None:
    assert verdicts(spoil(sound())) == {clause: verdict}


def test_without_mask_and_documents_rows_of_zeros_may_be_padding() -> None:
    step = sound()
    assert verdicts(StepZero(step.fc_input, step.tokens, step.last_hidden)) == {}


def test_a_norm_weight_of_another_size_is_could_not_check() -> None:
    assert verdicts(sound(), norm_weight=torch.ones(3)) == {"loader.last-hidden": Verdict.ERRORED}


@pytest.mark.parametrize(
    "spoil",
    [
        change(fc_input=None),
        change(tokens=None),
        change(fc_input="states"),
        lambda step: dataclasses.replace(step, fc_input=step.fc_input.to("meta")),
    ],
)
@pytest.mark.parametrize("raises", [True, False])
def test_parts_that_are_no_numbers_are_refused_as_unchecked(spoil: Change, raises: bool) -> None:  # noqa: FBT001
    with pytest.raises(GuardError, match="COULD NOT CHECK the batch against the contract tiny-llama-eagle3@"):
        guard(spoil(sound()), contract(), raises=raises)


def test_what_is_no_contract_is_refused() -> None:
    with pytest.raises(GuardError, match="and this is int"):
        guard(sound(), 5)  # type: ignore[arg-type]
