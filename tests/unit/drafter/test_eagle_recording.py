"""EAGLE's own draft model, run once beside the project (recordings/README.md): the oracle gives its logits."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from eagle3_contracts.drafter import DraftSession, ReferenceDrafter, TargetHead
from support.drafters import drafter_contract

RECORDING = Path(__file__).parent / "recordings" / "eagle.safetensors"
TRAINED_THETA = 10000.0
"""EAGLE's training code reads no rope_theta."""


@pytest.fixture(scope="module")
def recorded() -> dict[str, Tensor]:
    return load_file(RECORDING)


def make_oracle(recorded: dict[str, Tensor], theta: float = 5000.0) -> ReferenceDrafter:
    attention = {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 8}
    contract = drafter_contract(attention=attention, final="post_norm", rope={"theta": theta})
    weights = {name.removeprefix("weights."): value for name, value in recorded.items() if name.startswith("weights.")}
    return ReferenceDrafter(contract, weights)


def test_step_0_is_that_of_its_inference_model(recorded: dict[str, Tensor]) -> None:
    (step,) = make_oracle(recorded).forward(recorded["inputs.fc_input"], recorded["inputs.tokens"])
    torch.testing.assert_close(step.logits, recorded["draft.step0.logits"], rtol=0, atol=1e-5)


def test_a_chain_is_the_one_that_it_drafts(recorded: dict[str, Tensor]) -> None:
    session = DraftSession(make_oracle(recorded))
    session.extend(recorded["inputs.fc_input"], recorded["inputs.tokens"])
    draft = session.draft(5)
    torch.testing.assert_close(draft.logits, recorded["draft.chain.logits"], rtol=0, atol=1e-5)
    assert draft.tokens.tolist() == recorded["draft.chain.tokens"].tolist()
    assert len(set(draft.tokens.tolist())) > 2, "a recording of one token over and over would prove little"


def test_a_tree_has_the_nodes_and_logits_of_its_own(recorded: dict[str, Tensor]) -> None:
    """Three children, the best three paths of each depth by summed log-probability, as topK_genrate picks them."""
    oracle, ids = make_oracle(recorded), make_oracle(recorded).target_ids()
    front = oracle.begin(recorded["inputs.fc_input"], recorded["inputs.tokens"])
    best = front.logits[-1].log_softmax(-1).topk(3)
    scores, fed = best.values, ids[best.indices]
    front = front.select(torch.full((3,), len(front.logits) - 1))
    for tokens, logits in zip(recorded["draft.tree.tokens"], recorded["draft.tree.logits"], strict=True):
        front = oracle.advance(front, fed)
        assert fed.tolist() == tokens.tolist()
        torch.testing.assert_close(front.logits, logits, rtol=0, atol=1e-5)
        children = front.logits.log_softmax(-1).topk(3)
        paths = (children.values + scores[:, None]).flatten().topk(3)
        scores, fed = paths.values, ids[children.indices.flatten()[paths.indices]]
        front = front.select(paths.indices // 3)


def test_steps_0_to_2_and_their_losses_are_those_of_its_training(recorded: dict[str, Tensor]) -> None:
    oracle, tokens = make_oracle(recorded, TRAINED_THETA), recorded["inputs.tokens"]
    head = TargetHead(oracle.contract, {"target.lm_head.weight": recorded["train.target_head"]})
    shifted = TargetHead.at_step(tokens, 1)
    targets = TargetHead.at_step(head.logits(recorded["inputs.last_hidden"]), 1)
    for number, step in enumerate(oracle.forward(recorded["inputs.fc_input"], shifted, steps=3)):
        torch.testing.assert_close(step.logits, recorded[f"train.step{number}.logits"], rtol=0, atol=1e-5)
        aligned = TargetHead.at_step(targets, number)
        known = torch.isin(aligned.argmax(-1), oracle.target_ids()) & (torch.arange(len(tokens)) < len(tokens) - number)
        shares = aligned[:, oracle.target_ids()].softmax(-1)
        loss = -(known[:, None] * shares * step.logits.log_softmax(-1)).sum(-1).mean()
        torch.testing.assert_close(loss, recorded["train.losses"][number], rtol=0, atol=1e-5)


def test_its_training_does_not_know_the_theta_that_its_inference_reads(recorded: dict[str, Tensor]) -> None:
    shifted = TargetHead.at_step(recorded["inputs.tokens"], 1)
    (step,) = make_oracle(recorded).forward(recorded["inputs.fc_input"], shifted)
    assert (step.logits - recorded["train.step0.logits"]).abs().max() > 1e-3
