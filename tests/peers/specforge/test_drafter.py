"""SpecForge 0.2.0: its draft model and the oracle, with the same tensors, give the same logits and targets.

Real: LlamaForCausalLMEagle3 and OnlineEagle3Model, its TTT loop, its shifts. Stand-in: ``specforge.core.loss``, whose
kernel is written in Triton; the one here records what reaches it and computes the same cross entropy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.drafter import GqaAttention
from eagle3_contracts.drafter import ReferenceDrafter, Step, TargetHead, canonical_names
from support.drafters import (
    ROPES,
    VOCAB,
    drafter_contract,
    random_inputs,
    random_target,
    random_weights,
    rope_parameters,
)

pytestmark = pytest.mark.peer("specforge")

Peer = Callable[[str], ModuleType]
STEPS = 3
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "fc_norm": {"fc": {"input_norm": "per_plane"}},
    "norm_output = false": {"head_norm": False},
    "a wider target": {"target_width": 48},
    "a wider target and fc_norm": {"target_width": 48, "fc": {"input_norm": "per_plane"}},
    "gelu": {"activation": "gelu"},
    **{f"{kind} rope": {"rope": ROPES[kind]} for kind in ("linear", "llama3", "yarn")},
}


class Recorded(NamedTuple):
    """What a step hands to its loss: logits and the target's shares, [T, D]."""

    logits: Tensor
    shares: Tensor


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch, peer: Peer) -> Iterator[list[Recorded]]:
    """Put the recorder in the place of the loss; the real model's functions run uncompiled."""
    recorded: list[Recorded] = []

    class Loss:
        @staticmethod
        def apply(logits: Tensor, shares: Tensor, mask: Tensor) -> Tensor:
            recorded.append(Recorded(logits[0], shares[0]))
            return -(mask * shares * logits.log_softmax(-1)).sum(2).mean()

    stand_in = ModuleType("specforge.core.loss")
    stand_in.__dict__["LogSoftmaxLoss"] = Loss
    peer("specforge.core")
    if "specforge.core.loss" not in sys.modules:
        monkeypatch.setitem(sys.modules, "specforge.core.loss", stand_in)
    monkeypatch.setattr(peer("specforge.algorithms.eagle3.model"), "LogSoftmaxLoss", Loss)
    torch.compiler.set_stance("force_eager")
    yield recorded
    torch.compiler.set_stance("default")


def run_both(peer: Peer, contract: Contract, **config: Any) -> tuple[tuple[Step, ...], Tensor]:
    """Train the real model for one forward over a text; give the oracle's steps, and its targets at step 0."""
    inputs, weights, target = random_inputs(contract), random_weights(contract), random_target(contract)
    oracle, head = ReferenceDrafter(contract, weights), TargetHead(contract, target)
    model = _build_model(peer, contract, config)
    real = {canonical: name for name, canonical in canonical_names(model.state_dict(), "specforge").items()}
    unapplied = set() if contract.drafter.head_norm else {"norm.weight"}
    assert set(real) == set(weights) | unapplied
    t2d = torch.zeros(VOCAB, dtype=torch.bool)
    t2d[oracle.target_ids()] = True
    named = model.state_dict() | {real[name]: tensor for name, tensor in weights.items()} | {"t2d": t2d}
    model.load_state_dict(named, strict=True)
    padding = peer("specforge.utils").padding
    tokens = padding(inputs.tokens[None], left=False)
    last_hidden = padding(inputs.last_hidden[None], left=False)
    trainer = peer("specforge.algorithms.eagle3.model").OnlineEagle3Model(model, length=STEPS, attention_backend="sdpa")
    with torch.no_grad():
        trainer(
            input_ids=tokens,
            attention_mask=torch.ones_like(tokens),
            target=last_hidden @ target["target.lm_head.weight"].T,
            loss_mask=torch.ones_like(tokens)[..., None],
            hidden_states=inputs.fc_input[None],
        )
    steps = oracle.forward(inputs.fc_input, tokens[0], steps=STEPS)
    return steps, head.logits(last_hidden[0], oracle.target_ids())


@pytest.mark.parametrize("name", VARIANTS)
def test_the_oracle_gives_the_real_logits_and_targets(name: str, records: list[Recorded], peer: Peer) -> None:
    steps, targets = run_both(peer, drafter_contract(final="post_norm", **VARIANTS[name]))
    for number, (real, step) in enumerate(zip(records, steps, strict=True)):
        torch.testing.assert_close(step.logits, real.logits, rtol=0, atol=1e-5)
        shares = TargetHead.at_step(targets, number).softmax(-1)
        torch.testing.assert_close(shares[step.valid], real.shares[step.valid], rtol=0, atol=1e-5)


def test_flags_of_other_tools_change_nothing_there(records: list[Recorded], peer: Peer) -> None:
    """A config that asks for what speculators and engines know trains the plain drafter."""
    foreign = {"norm_before_residual": True, "norm_before_fc": True, "attention_bias": True, "num_hidden_layers": 3}
    steps, _ = run_both(peer, drafter_contract(final="post_norm"), **foreign)
    for real, step in zip(records, steps, strict=True):
        torch.testing.assert_close(step.logits, real.logits, rtol=0, atol=1e-5)


def test_dynamic_rope_is_scaled_there_from_the_first_token_on(records: list[Recorded], peer: Peer) -> None:
    """Its table has max_position + 20 rows, so its base is that of a sequence of this length (llama3_eagle.py)."""
    rope = ROPES["dynamic"]
    steps, _ = run_both(peer, drafter_contract(final="post_norm", rope=rope))
    assert (steps[0].logits - records[0].logits).abs().max() > 1e-3
    contract = drafter_contract(final="post_norm")
    channels, longest = 8, (contract.drafter.max_position + 20) / contract.drafter.max_position
    base = rope["theta"] * (rope["factor"] * longest - (rope["factor"] - 1)) ** (channels / (channels - 2))
    contract = drafter_contract(final="post_norm", rope={"theta": base})
    inputs = random_inputs(contract)
    tokens = torch.cat((inputs.tokens[1:], torch.zeros(1, dtype=torch.long)))
    for real, step in zip(
        records,
        ReferenceDrafter(contract, random_weights(contract)).forward(inputs.fc_input, tokens, steps=STEPS),
        strict=True,
    ):
        torch.testing.assert_close(step.logits, real.logits, rtol=0, atol=1e-5)


def _build_model(peer: Peer, contract: Contract, more: dict[str, Any]) -> Any:
    drafter, attention = contract.drafter, contract.drafter.attention
    assert isinstance(attention, GqaAttention)
    values: dict[str, Any] = {
        "vocab_size": contract.target.vocab_size,
        "hidden_size": drafter.hidden_size,
        "target_hidden_size": contract.target.hidden_size,
        "intermediate_size": drafter.intermediate_size,
        "num_hidden_layers": 1,
        "num_attention_heads": attention.heads,
        "num_key_value_heads": attention.kv_heads,
        "head_dim": attention.head_dim,
        "hidden_act": drafter.activation,
        "max_position_embeddings": drafter.max_position,
        "rms_norm_eps": contract.target.norm.eps,
        "rope_parameters": rope_parameters(contract),
        "draft_vocab_size": drafter.draft_vocab_size,
        "fc_norm": drafter.fc.input_norm == "per_plane",
        "norm_output": drafter.head_norm,
        "pad_token_id": 0,
        "tie_word_embeddings": False,
    }
    config = peer("transformers").LlamaConfig(**values | more)
    model = peer("specforge.modeling.draft.llama3_eagle").LlamaForCausalLMEagle3(config, attention_backend="sdpa")
    return model.float().eval()
