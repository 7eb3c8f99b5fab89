"""Drafting token by token agrees with steps over the whole sequence wherever it must."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import DraftSession, ReferenceDrafter
from eagle3_contracts.drafter.attention import KeyValue
from support.drafter_strategies import drafter_contracts
from support.drafters import GQA, drafter_contract, random_inputs, random_weights

EXACT = {"rtol": 0, "atol": 1e-10}
LENGTH, STEPS = 12, 4


def make_drafter(contract: Contract) -> ReferenceDrafter:
    return ReferenceDrafter(contract, random_weights(contract), torch.float64)


@given(drafter_contracts(), st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_rows_taken_in_by_and_by_give_the_same_as_all_at_once(contract: Contract, pieces: list[int]) -> None:
    inputs, drafter = random_inputs(contract, sum(pieces)), make_drafter(contract)
    (whole,) = drafter.forward(inputs.fc_input, inputs.tokens)
    session, logits, first = DraftSession(drafter), [], 0
    for size in pieces:
        rows = slice(first, first + size)
        logits.append(session.extend(inputs.fc_input[rows], inputs.tokens[rows]).logits)
        first += size
    torch.testing.assert_close(torch.cat(logits), whole.logits, **EXACT)


@given(drafter_contracts(windows=False), st.integers(1, LENGTH - STEPS))
def test_a_chain_of_the_texts_tokens_is_a_row_of_the_training_forward(contract: Contract, length: int) -> None:
    inputs, drafter = random_inputs(contract, LENGTH), make_drafter(contract)
    steps = drafter.forward(inputs.fc_input, inputs.tokens, steps=STEPS)
    session = DraftSession(drafter)
    session.extend(inputs.fc_input[:length], inputs.tokens[:length])
    draft = session.draft(STEPS, forced=inputs.tokens[length : length + STEPS].tolist())
    trained = torch.stack([step.logits[length - 1] for step in steps])
    torch.testing.assert_close(draft.logits, trained, **EXACT)
    assert torch.equal(draft.tokens, drafter.target_ids()[draft.logits.argmax(-1)])


@given(drafter_contracts(windows=False))
def test_own_tokens_over_a_whole_sequence_are_the_greedy_chain_of_every_row(contract: Contract) -> None:
    inputs, drafter = random_inputs(contract, 6), make_drafter(contract)
    steps = drafter.forward(inputs.fc_input, inputs.tokens, steps=STEPS, tokens_from="draft")
    session = DraftSession(drafter)
    for row in range(6):
        session.extend(inputs.fc_input[row : row + 1], inputs.tokens[row : row + 1])
        draft = session.draft(STEPS)
        torch.testing.assert_close(draft.logits, torch.stack([step.logits[row] for step in steps]), **EXACT)
        assert draft.tokens.tolist()[:-1] == [int(step.tokens[row]) for step in steps[1:]]


def test_a_draft_leaves_no_trace() -> None:
    inputs, drafter = random_inputs(drafter_contract()), make_drafter(drafter_contract())
    session = DraftSession(drafter)
    session.extend(inputs.fc_input[:5], inputs.tokens[:5])
    first = session.draft(STEPS)
    assert torch.equal(session.draft(STEPS).logits, first.logits)
    continued = session.extend(inputs.fc_input[5:], inputs.tokens[5:])
    torch.testing.assert_close(continued.logits, drafter.forward(*inputs[:2])[0].logits[5:], **EXACT)


def test_positions_that_start_elsewhere_do_not_show() -> None:
    inputs, drafter = random_inputs(drafter_contract()), make_drafter(drafter_contract())
    plain, moved = DraftSession(drafter), DraftSession(drafter)
    plain.extend(inputs.fc_input, inputs.tokens)
    moved.extend(inputs.fc_input, inputs.tokens, torch.arange(7, 19))
    torch.testing.assert_close(plain.draft(3).logits, moved.draft(3).logits, rtol=0, atol=1e-4)


@pytest.mark.parametrize("window", [1, 2, 4, 7])
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_a_sliding_window_moves_on_with_a_served_chain(window: int, step: int) -> None:
    """Step k attends to the last ``window`` tokens, its own among them: rows of step 0 first, then earlier steps."""
    drafter = make_drafter(drafter_contract(attention=GQA | {"sliding_window": window}))
    inputs = random_inputs(drafter.contract)
    front = drafter.begin(inputs.fc_input, inputs.tokens).select(torch.tensor([LENGTH - 1]))
    for token in range(1, step):
        front = drafter.advance(front, torch.tensor([token]), window_moves=True)
    untouched = drafter.advance(front, torch.tensor([0]), window_moves=True).logits
    seen = []
    for row in range(LENGTH):
        ((key, value),) = front.shared
        changed = replace(front, shared=(KeyValue(key, value + (torch.arange(LENGTH) == row)[:, None]),))
        logits = drafter.advance(changed, torch.tensor([0]), window_moves=True).logits
        seen.append(not torch.equal(logits, untouched))
    assert seen == [row > LENGTH - 1 + step - window for row in range(LENGTH)]
    (trail,) = front.trail
    kept = []
    for index in range(len(trail)):
        own = tuple(KeyValue(key, value + (number == index)) for number, (key, value) in enumerate(trail))
        logits = drafter.advance(replace(front, trail=(own,)), torch.tensor([0]), window_moves=True).logits
        kept.append(not torch.equal(logits, untouched))
    assert sum(kept) == min(step - 1, window - 1)
    assert kept == sorted(kept), "the earliest steps leave the window first"


def test_trainings_window_stays_and_servings_moves() -> None:
    contract = drafter_contract(attention=GQA | {"sliding_window": 4})
    inputs, drafter = random_inputs(contract), make_drafter(contract)
    steps = drafter.forward(inputs.fc_input, inputs.tokens, steps=2)
    session = DraftSession(drafter)
    session.extend(inputs.fc_input[:8], inputs.tokens[:8])
    draft = session.draft(2, forced=[int(inputs.tokens[8])])
    torch.testing.assert_close(draft.logits[0], steps[0].logits[7], **EXACT)
    assert (draft.logits[1] - steps[1].logits[7]).abs().max() > 1e-3


def test_a_draft_before_any_row_is_refused() -> None:
    with pytest.raises(RuntimeError, match="extend the session"):
        DraftSession(make_drafter(drafter_contract())).draft(1)


def test_branches_of_a_tree_are_chains_of_their_own() -> None:
    inputs, drafter = random_inputs(drafter_contract()), make_drafter(drafter_contract())
    paths = [[3, 1], [3, 2], [4, 1]]
    front = drafter.begin(inputs.fc_input, inputs.tokens).select(torch.tensor([LENGTH - 1] * 2))
    front = drafter.advance(front, torch.tensor([3, 4]))
    front = drafter.advance(front.select(torch.tensor([0, 0, 1])), torch.tensor([1, 2, 1]))
    session = DraftSession(drafter)
    session.extend(inputs.fc_input, inputs.tokens)
    for path, logits in zip(paths, front.logits, strict=True):
        torch.testing.assert_close(session.draft(3, forced=path).logits[-1], logits, **EXACT)
