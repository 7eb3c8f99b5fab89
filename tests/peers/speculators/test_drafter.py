"""speculators 0.9.0: its draft model and the oracle, with the same tensors, give the same logits and targets.

Real: Eagle3DraftModel, its masks, its TTT loop, its alignment of targets; transformers' layers in it. Recorded on the
way to its loss: logits, targets and mask of every step. Attention is "eager": flex attention has no CPU build.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.drafter import GqaAttention
from eagle3_contracts.drafter import ReferenceDrafter, TargetHead, canonical_names
from support.drafters import (
    DRAFT_VOCAB,
    GQA,
    ROPES,
    VOCAB,
    drafter_contract,
    random_inputs,
    random_target,
    random_weights,
    rope_parameters,
)

pytestmark = pytest.mark.peer("speculators")

Peer = Callable[[str], ModuleType]
STEPS = 3
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "norm_before_residual": {"residual": "post_norm"},
    "norm_before_fc": {"fc": {"input_norm": "joint"}},
    "fc_norm": {"fc": {"input_norm": "per_plane"}},
    "norm_output": {"recurrent": "post_norm"},
    "every flag of 0.9's command line": {
        "residual": "post_norm",
        "recurrent": "post_norm",
        "fc": {"input_norm": "joint"},
        "lm_head": "target_rows",
    },
    "attention_bias": {"attention": GQA | {"bias": True}},
    "qwen3": {"attention": GQA | {"qk_norm": True}},
    "sliding_window": {"attention": GQA | {"qk_norm": True, "sliding_window": 4}},
    "three layers": {"layers": 3},
    "three layers of qwen3": {"layers": 3, "attention": GQA | {"qk_norm": True}, "recurrent": "post_norm"},
    "two planes": {"planes": 2},
    "gelu": {"activation": "gelu_pytorch_tanh"},
    **{f"{kind} rope": {"rope": rope} for kind, rope in ROPES.items() if kind != "default"},
}


class Recorded(NamedTuple):
    """What a step hands to its loss, for the rows that it keeps."""

    logits: Tensor
    targets: Tensor
    mask: Tensor


class Twin(NamedTuple):
    """The real model and the oracle of one contract, with the same tensors."""

    contract: Contract
    model: Any
    oracle: ReferenceDrafter
    head: TargetHead


@pytest.fixture
def make_twin(peer: Peer) -> Callable[..., Twin]:
    def make(**changes: Any) -> Twin:
        contract = drafter_contract(**changes)
        weights, target = random_weights(contract), random_target(contract)
        oracle, head = ReferenceDrafter(contract, weights), TargetHead(contract, target)
        t2d = torch.zeros(VOCAB, dtype=torch.bool)
        t2d[oracle.target_ids()] = True
        model = _build_model(peer, contract)
        rest = {
            "t2d": t2d,
            "verifier_norm.weight": target["target.norm.weight"],
            "verifier_lm_head.weight": target["target.lm_head.weight"][t2d],
        }
        renamed = canonical_names(model.state_dict(), "speculators")
        assert renamed == dict(zip(weights, weights, strict=True)), "speculators' own names are the canonical ones"
        model.load_state_dict(weights | rest, strict=True)
        return Twin(contract, model, oracle, head)

    return make


@pytest.fixture
def run(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Recorded]]:
    """Run the real model over rows as its own ``shift_batch`` pairs them; give each step's way to the loss."""
    core, metrics = peer("speculators.models.eagle3.core"), peer("speculators.models.eagle3.metrics")
    losses = peer("speculators.losses").resolve_loss_config("kl_div", "eager")

    def run_model(model: Any, batch: dict[str, Tensor], documents: Tensor | None = None) -> list[Recorded]:
        recorded: list[Recorded] = []
        compute = metrics.compute_metrics

        def record(
            logits: Tensor, targets: Tensor, mask: Tensor, previous: Tensor, step: int, *rest: Any, **more: Any
        ) -> Any:
            kept = metrics.align_for_step(logits, targets, mask, previous, step)[:3]
            recorded.append(Recorded(*(tensor[0] for tensor in kept)))
            return compute(logits, targets, mask, previous, step, *rest, **more)

        monkeypatch.setattr(core, "compute_metrics", record)
        rows = {name: tensor[None] for name, tensor in batch.items() if name != "lengths"}
        ids = torch.zeros_like(rows["input_ids"]) if documents is None else documents[None]
        with torch.no_grad():
            model(**rows, document_ids=ids, ttt_steps=STEPS, loss_config=losses)
        return recorded

    return run_model


@pytest.mark.parametrize("name", VARIANTS)
def test_the_oracle_gives_the_real_logits_and_targets(
    name: str, make_twin: Callable[..., Twin], run: Callable[..., list[Recorded]], peer: Peer
) -> None:
    twin = make_twin(**VARIANTS[name])
    batch = _shift(peer, twin.contract)
    steps = twin.oracle.forward(batch["hidden_states"], batch["input_ids"], batch["position_ids"], steps=STEPS)
    targets = twin.head.logits(batch["verifier_last_hidden_states"], twin.oracle.target_ids())
    for number, (real, step) in enumerate(zip(run(twin.model, batch), steps, strict=True)):
        kept = step.valid
        assert int(kept.sum()) == len(real.logits)
        torch.testing.assert_close(step.logits[kept], real.logits, rtol=0, atol=1e-5)
        torch.testing.assert_close(TargetHead.at_step(targets, number)[kept], real.targets, rtol=0, atol=1e-5)


def test_partial_rotation_is_what_its_own_patch_computes(
    make_twin: Callable[..., Twin], run: Callable[..., list[Recorded]], peer: Peer
) -> None:
    rotary = peer("speculators.models.eagle3.rotary_partial")
    twin = make_twin(rope=ROPES["linear"] | {"partial_factor": 0.5})
    batch = _shift(peer, twin.contract)
    rotary.install_partial_neox_rotary()
    try:
        recorded = run(twin.model, batch)
    finally:
        rotary.uninstall_partial_neox_rotary()
    steps = twin.oracle.forward(batch["hidden_states"], batch["input_ids"], batch["position_ids"], steps=STEPS)
    for real, step in zip(recorded, steps, strict=True):
        torch.testing.assert_close(step.logits[step.valid], real.logits, rtol=0, atol=1e-5)


def test_packed_documents_stay_apart_in_both(
    make_twin: Callable[..., Twin], run: Callable[..., list[Recorded]], peer: Peer
) -> None:
    """The real loop lets the tokens of a document's end run into the next one; the oracle calls those rows invalid."""
    twin = make_twin()
    first, second = _shift(peer, twin.contract, 9), _shift(peer, twin.contract, 7, seed=5)
    batch = {name: torch.cat((first[name], second[name])) for name in first if name != "lengths"}
    documents = torch.tensor([0] * 8 + [1] * 6)
    recorded = run(twin.model, batch, documents)
    steps = twin.oracle.forward(
        batch["hidden_states"], batch["input_ids"], batch["position_ids"], steps=STEPS, documents=documents
    )
    for number, (real, step) in enumerate(zip(recorded, steps, strict=True)):
        assert (
            step.valid.tolist() == [True] * (8 - number) + [False] * number + [True] * (6 - number) + [False] * number
        )
        torch.testing.assert_close(step.logits[: len(real.logits)], real.logits, rtol=0, atol=1e-5)
    alone = twin.oracle.forward(second["hidden_states"], second["input_ids"], second["position_ids"], steps=STEPS)
    for number, (packed, own) in enumerate(zip(steps, alone, strict=True)):
        torch.testing.assert_close(packed.logits[8 : 14 - number], own.logits[: 6 - number], rtol=0, atol=1e-5)


def _shift(peer: Peer, contract: Contract, length: int = 13, seed: int = 2) -> dict[str, Tensor]:
    """Pair rows with the real ``shift_batch``; positions then start at 1."""
    inputs = random_inputs(contract, length, seed)
    shifted: dict[str, Tensor] = peer("speculators.models.eagle3.data").shift_batch(
        {
            "input_ids": inputs.tokens,
            "hidden_states": inputs.fc_input,
            "verifier_last_hidden_states": inputs.last_hidden,
            "loss_mask": torch.ones(length, dtype=torch.long),
            "lengths": torch.tensor([length]),
            "position_ids": torch.arange(length),
        }
    )
    return shifted


def _build_model(peer: Peer, contract: Contract) -> Any:
    drafter, models = contract.drafter, peer("speculators.models.eagle3")
    config, greedy = peer("speculators.config"), peer("speculators.proposals.greedy")
    speculators = config.SpeculatorsConfig(
        algorithm="eagle3",
        proposal_methods=[greedy.GreedyTokenProposalConfig(speculative_tokens=STEPS)],
        default_proposal_method="greedy",
        verifier=config.VerifierConfig(name_or_path=None, architectures=["LlamaForCausalLM"]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.Eagle3DraftModel(
            models.Eagle3SpeculatorConfig(
                transformer_layer_config=_layer_config(peer, contract),
                draft_vocab_size=DRAFT_VOCAB,
                norm_before_residual=drafter.residual == "post_norm",
                norm_before_fc=drafter.fc.input_norm == "joint",
                fc_norm=drafter.fc.input_norm == "per_plane",
                norm_output=drafter.recurrent == "post_norm",
                eagle_aux_hidden_state_layer_ids=list(range(1, len(drafter.input) + 1)),
                speculators_config=speculators,
            )
        )
    return model.float().eval()


def _layer_config(peer: Peer, contract: Contract) -> Any:
    """Write the contract's decoder layer as transformers' config; the model's tools read nothing else of it."""
    drafter, transformers = contract.drafter, peer("transformers")
    attention = drafter.attention
    assert isinstance(attention, GqaAttention)
    windowed = attention.sliding_window is not None
    more: dict[str, Any] = {}
    if attention.qk_norm:
        more = {"use_sliding_window": windowed, "sliding_window": attention.sliding_window, "max_window_layers": 0}
    config = (transformers.Qwen3Config if attention.qk_norm else transformers.LlamaConfig)(
        vocab_size=contract.target.vocab_size,
        hidden_size=drafter.hidden_size,
        intermediate_size=drafter.intermediate_size,
        num_hidden_layers=drafter.layers,
        num_attention_heads=attention.heads,
        num_key_value_heads=attention.kv_heads,
        head_dim=attention.head_dim,
        attention_bias=attention.bias,
        hidden_act=drafter.activation,
        max_position_embeddings=drafter.max_position,
        rms_norm_eps=contract.target.norm.eps,
        rope_parameters=rope_parameters(contract),
        **more,
    )
    config._attn_implementation = "eager"
    return config
