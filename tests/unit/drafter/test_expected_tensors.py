"""The table of expected tensors is exactly what the forward consumes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import (
    INTEGER_TENSORS,
    ReferenceDrafter,
    TargetHead,
    WeightsError,
    expected_target_tensors,
    expected_tensors,
)
from support.drafter_strategies import drafter_contracts
from support.drafters import GQA, MLA, drafter_contract, random_inputs, random_target, random_weights


@given(drafter_contracts())
def test_every_expected_tensor_moves_some_logits(contract: Contract) -> None:
    weights = random_weights(contract, dtype=torch.float64)
    floats = {name: tensor.requires_grad_() for name, tensor in weights.items() if name not in INTEGER_TENSORS}
    inputs = random_inputs(contract)
    drafter = ReferenceDrafter(contract, weights, torch.float64)
    steps = drafter.forward(inputs.fc_input, inputs.tokens, steps=3)
    logits = torch.cat([step.logits for step in steps])
    mixed = (logits * torch.randn(logits.shape, generator=torch.Generator().manual_seed(3))).sum()
    gradients = torch.autograd.grad(mixed, list(floats.values()), allow_unused=True)
    dead = [name for name, slope in zip(floats, gradients, strict=True) if slope is None or slope.abs().max() < 1e-9]
    assert not dead


@given(drafter_contracts())
def test_nothing_that_is_expected_may_be_missing_and_nothing_else_is_read(contract: Contract) -> None:
    weights = random_weights(contract)
    assert ReferenceDrafter(contract, weights | {"t2d": torch.ones(64, dtype=torch.bool)}).unread == {"t2d"}
    with pytest.raises(WeightsError) as caught:
        ReferenceDrafter(contract, {})
    assert [defect.split(" ", 1)[0] for defect in caught.value.defects] == list(expected_tensors(contract))


@pytest.mark.parametrize("d2t", ["offset", "absolute"])
def test_d2t_moves_what_is_drafted(d2t: str) -> None:
    contract = drafter_contract(d2t=d2t)
    weights = random_weights(contract)
    moved = weights | {"d2t": weights["d2t"] + 1}
    assert (
        ReferenceDrafter(contract, moved).target_ids() == ReferenceDrafter(contract, weights).target_ids() + 1
    ).all()


def test_the_plain_drafter_has_the_tensors_that_every_trainer_writes() -> None:
    expected = {name: tensor.shape for name, tensor in expected_tensors(drafter_contract(attention=GQA)).items()}
    assert expected == {
        "embed_tokens.weight": (64, 32),
        "lm_head.weight": (40, 32),
        "norm.weight": (32,),
        "d2t": (40,),
        "fc.weight": (32, 96),
        "layers.0.input_layernorm.weight": (32,),
        "layers.0.hidden_norm.weight": (32,),
        "layers.0.post_attention_layernorm.weight": (32,),
        "layers.0.self_attn.q_proj.weight": (64, 64),
        "layers.0.self_attn.k_proj.weight": (16, 64),
        "layers.0.self_attn.v_proj.weight": (16, 64),
        "layers.0.self_attn.o_proj.weight": (32, 64),
        "layers.0.mlp.gate_proj.weight": (48, 32),
        "layers.0.mlp.up_proj.weight": (48, 32),
        "layers.0.mlp.down_proj.weight": (32, 48),
    }


def test_the_latent_attention_has_deepseeks_names() -> None:
    expected = expected_tensors(drafter_contract(attention=MLA | {"bias": True}, layers=2))
    prefix = "layers.0.self_attn."
    assert {name.removeprefix(prefix): value.shape for name, value in expected.items() if name.startswith(prefix)} == {
        "q_a_proj.weight": (12, 64),
        "q_a_proj.bias": (12,),
        "q_a_layernorm.weight": (12,),
        "q_b_proj.weight": (30, 12),
        "kv_a_proj_with_mqa.weight": (14, 64),
        "kv_a_proj_with_mqa.bias": (14,),
        "kv_a_layernorm.weight": (10,),
        "kv_b_proj.weight": (33, 10),
        "o_proj.weight": (32, 15),
        "o_proj.bias": (32,),
    }
    assert expected["layers.1.self_attn.q_a_proj.weight"].shape == (12, 32)
    assert "layers.1.hidden_norm.weight" not in expected


@pytest.mark.parametrize(
    ("changes", "borrowed"),
    [
        ({}, set()),
        ({"embedding": "target"}, {"embed_tokens.weight"}),
        ({"lm_head": "target_rows"}, {"lm_head.weight"}),
        (
            {"embedding": "target", "lm_head": "target", "draft_vocab_size": 64},
            {"embed_tokens.weight", "lm_head.weight"},
        ),
    ],
)
def test_what_the_target_lends_is_marked(changes: dict[str, object], borrowed: set[str]) -> None:
    assert {name for name, value in expected_tensors(drafter_contract(**changes)).items() if value.borrowed} == borrowed


def test_a_tied_head_is_no_tensor() -> None:
    assert "lm_head.weight" not in expected_tensors(drafter_contract(lm_head="embedding", draft_vocab_size=64))


def test_every_defect_is_named_at_once() -> None:
    contract = drafter_contract(lm_head="target_rows")
    weights = random_weights(contract)
    weights["fc.weight"] = weights["fc.weight"][:, :64]
    weights["d2t"] = weights["d2t"].float()
    del weights["lm_head.weight"]
    with pytest.raises(WeightsError) as caught:
        ReferenceDrafter(contract, weights)
    assert set(caught.value.defects) == {
        "lm_head.weight is missing: [40, 32], which the target lends",
        "fc.weight is [32, 64], not [32, 96]",
        "d2t holds torch.float32, not integers",
    }


def test_targets_need_the_final_norm_only_before_it() -> None:
    assert set(expected_target_tensors(drafter_contract())) == {"target.lm_head.weight", "target.norm.weight"}
    after = drafter_contract(final="post_norm")
    assert set(expected_target_tensors(after)) == {"target.lm_head.weight"}
    target = random_target(drafter_contract())
    inputs = random_inputs(after)
    head = target["target.lm_head.weight"]
    del target["target.norm.weight"]
    torch.testing.assert_close(TargetHead(after, target).logits(inputs.last_hidden), inputs.last_hidden @ head.T)
