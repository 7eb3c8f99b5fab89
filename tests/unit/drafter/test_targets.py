"""Targets, and what a drafter borrows from its target."""

from __future__ import annotations

import pytest
import torch

from eagle3_contracts.drafter import ReferenceDrafter, TargetHead, WeightsError, fill_borrowed
from support.drafters import drafter_contract, random_inputs, random_target, random_weights


def test_targets_of_the_draft_vocabulary_are_the_whole_ones_at_its_ids() -> None:
    contract = drafter_contract()
    head, ids = (
        TargetHead(contract, random_target(contract)),
        ReferenceDrafter(contract, random_weights(contract)).target_ids(),
    )
    last_hidden = random_inputs(contract).last_hidden
    torch.testing.assert_close(head.logits(last_hidden, ids), head.logits(last_hidden)[:, ids])


@pytest.mark.parametrize("norm", [{}, {"plus_one": True}, {"kind": "layer"}])
def test_the_final_norm_is_the_targets_own(norm: dict[str, object]) -> None:
    contract = drafter_contract(target_norm=norm, norm={"eps": 0.5})
    target, state = random_target(contract), random_inputs(contract).last_hidden
    weight = target["target.norm.weight"] + float(bool(norm.get("plus_one")))
    if norm.get("kind") == "layer":
        normed = torch.nn.functional.layer_norm(state, (32,), weight, eps=1e-5)
    else:
        normed = torch.nn.functional.rms_norm(state, (32,), weight, eps=1e-5)
    expected = normed @ target["target.lm_head.weight"].T
    torch.testing.assert_close(TargetHead(contract, target).logits(state), expected)


def test_a_norm_that_the_contract_leaves_out_is_left_out() -> None:
    """speculators 0.3.0 took the head of the state before the norm."""
    contract = drafter_contract(last_hidden_norm=False)
    target, state = random_target(contract), random_inputs(contract).last_hidden
    torch.testing.assert_close(TargetHead(contract, target).logits(state), state @ target["target.lm_head.weight"].T)


def test_a_head_that_is_missing_is_named() -> None:
    with pytest.raises(WeightsError, match=r"target\.lm_head\.weight is missing: \[64, 32\]"):
        TargetHead(drafter_contract(final="post_norm"), {})


@pytest.mark.parametrize("d2t", ["offset", "absolute"])
def test_borrowed_rows_are_those_of_the_draft_vocabulary(d2t: str) -> None:
    contract = drafter_contract(embedding="target", lm_head="target_rows", d2t=d2t)
    own = random_weights(contract)
    del own["embed_tokens.weight"], own["lm_head.weight"]
    embedding, head = torch.randn(64, 32), torch.randn(64, 32)
    filled = fill_borrowed(contract, own, embedding, head)
    ids = ReferenceDrafter(contract, filled).target_ids()
    assert torch.equal(filled["lm_head.weight"], head[ids])
    assert filled["embed_tokens.weight"] is embedding


def test_what_the_checkpoint_holds_itself_is_kept() -> None:
    contract = drafter_contract(embedding="target", lm_head="target_rows")
    own = random_weights(contract)
    filled = fill_borrowed(contract, own, torch.zeros(64, 32), torch.zeros(64, 32))
    assert all(filled[name] is tensor for name, tensor in own.items())


def test_what_a_drafter_owns_is_never_borrowed() -> None:
    assert fill_borrowed(drafter_contract(), {}, torch.zeros(64, 32), torch.zeros(64, 32)) == {}


def test_a_whole_head_needs_no_d2t() -> None:
    contract = drafter_contract(lm_head="target", draft_vocab_size=64, d2t="none")
    head = torch.randn(64, 32)
    assert fill_borrowed(contract, {}, None, head)["lm_head.weight"] is head


def test_rows_that_no_d2t_names_are_left_out() -> None:
    contract = drafter_contract(lm_head="target_rows")
    assert fill_borrowed(contract, {}, None, torch.zeros(64, 32)) == {}


def test_targets_move_left_with_the_step() -> None:
    assert TargetHead.at_step(torch.tensor([1, 2, 3]), 0).tolist() == [1, 2, 3]
    assert TargetHead.at_step(torch.tensor([1, 2, 3]), 2).tolist() == [3, 0, 0]
    assert TargetHead.at_step(torch.tensor([1, 2, 3]), 5).tolist() == [0, 0, 0]
