"""Steps over whole sequences: what may see what, and what each statement of a contract changes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import ReferenceDrafter
from support.drafter_strategies import drafter_contracts
from support.drafters import GQA, MLA, ROPES, drafter_contract, random_inputs, random_weights

EXACT = {"rtol": 0, "atol": 1e-10}


def make_drafter(contract: Contract) -> ReferenceDrafter:
    return ReferenceDrafter(contract, random_weights(contract), torch.float64)


@given(drafter_contracts(), st.integers(1, 12), st.integers(1, 4))
def test_shapes(contract: Contract, length: int, count: int) -> None:
    inputs, drafter = random_inputs(contract, length), contract.drafter
    steps = make_drafter(contract).forward(inputs.fc_input, inputs.tokens, steps=count)
    assert len(steps) == count
    for number, step in enumerate(steps):
        assert step.logits.shape == (length, drafter.draft_vocab_size)
        assert step.state.shape == (length, drafter.hidden_size)
        assert step.valid.tolist() == [row < length - number for row in range(length)]
        assert step.logits.isfinite().all()


@given(drafter_contracts())
def test_positions_counted_from_0_or_1_are_the_same(contract: Contract) -> None:
    """Rotary scores depend on distances alone; the angles are float32, so the rest is their rounding."""
    inputs, drafter = random_inputs(contract), make_drafter(contract)
    from_zero = drafter.forward(inputs.fc_input, inputs.tokens, torch.arange(12), steps=3)
    from_one = drafter.forward(inputs.fc_input, inputs.tokens, torch.arange(1, 13), steps=3)
    for first, second in zip(from_zero, from_one, strict=True):
        torch.testing.assert_close(first.logits, second.logits, rtol=0, atol=1e-4)


def test_distances_of_positions_do_show() -> None:
    inputs, drafter = random_inputs(drafter_contract()), make_drafter(drafter_contract())
    stretched = drafter.forward(inputs.fc_input, inputs.tokens, 2 * torch.arange(12))
    assert (stretched[0].logits - drafter.forward(inputs.fc_input, inputs.tokens)[0].logits).abs().max() > 1e-2


@given(drafter_contracts(), st.integers(1, 11))
def test_no_row_sees_a_later_state(contract: Contract, row: int) -> None:
    inputs, drafter = random_inputs(contract), make_drafter(contract)
    changed = inputs.fc_input.clone()
    changed[row] += 1
    before = drafter.forward(inputs.fc_input, inputs.tokens, steps=3)
    after = drafter.forward(changed, inputs.tokens, steps=3)
    for first, second in zip(before, after, strict=True):
        assert torch.equal(first.logits[:row], second.logits[:row])
        assert not torch.equal(first.logits[row], second.logits[row])


@given(drafter_contracts(), st.integers(2, 11))
def test_step_k_of_a_row_sees_the_text_k_tokens_on_and_no_further(contract: Contract, row: int) -> None:
    inputs, drafter = random_inputs(contract), make_drafter(contract)
    changed = inputs.tokens.clone()
    changed[row] = (changed[row] + 1) % 64
    before = drafter.forward(inputs.fc_input, inputs.tokens, steps=3)
    after = drafter.forward(inputs.fc_input, changed, steps=3)
    for number, (first, second) in enumerate(zip(before, after, strict=True)):
        seen = [not torch.equal(*rows) for rows in zip(first.logits, second.logits, strict=True)]
        assert seen[: row - number] == [False] * (row - number)
        assert seen[row - number]


@given(drafter_contracts(), st.integers(2, 9))
def test_packed_documents_are_computed_as_if_alone(contract: Contract, cut: int) -> None:
    inputs, drafter = random_inputs(contract), make_drafter(contract)
    documents = torch.tensor([0] * cut + [1] * (12 - cut))
    positions = torch.cat((torch.arange(cut), torch.arange(12 - cut)))
    packed = drafter.forward(inputs.fc_input, inputs.tokens, positions, steps=2, documents=documents)
    for part, rows in ((slice(0, cut), cut), (slice(cut, 12), 12 - cut)):
        alone = drafter.forward(inputs.fc_input[part], inputs.tokens[part], steps=2)
        for both, own in zip(packed, alone, strict=True):
            assert both.valid[part].tolist() == own.valid.tolist()
            kept = own.valid
            torch.testing.assert_close(both.logits[part][kept], own.logits[kept], **EXACT)
            assert int(kept.sum()) == rows or both is packed[1]


def test_padding_changes_no_document() -> None:
    inputs, drafter = random_inputs(drafter_contract()), make_drafter(drafter_contract())
    documents = torch.tensor([0] * 7 + [-1] * 5)
    padded = drafter.forward(inputs.fc_input, inputs.tokens, steps=2, documents=documents)
    alone = drafter.forward(inputs.fc_input[:7], inputs.tokens[:7], steps=2)
    assert padded[1].valid.tolist() == [True] * 6 + [False] * 6
    torch.testing.assert_close(padded[1].logits[:6], alone[1].logits[:6], **EXACT)
    changed = inputs.fc_input.clone()
    changed[7:9] += 1
    again = drafter.forward(changed, inputs.tokens, steps=2, documents=documents)
    assert torch.equal(again[1].logits[9:], padded[1].logits[9:]), "a row of padding sees itself alone"


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "heads share keys": ({}, {"attention": GQA | {"heads": 4, "kv_heads": 4, "head_dim": 16}}),
    "qk_norm": ({}, {"attention": GQA | {"qk_norm": True}}),
    "bias": ({}, {"attention": GQA | {"bias": True}}),
    "sinks": ({}, {"attention": GQA | {"sinks": True}}),
    "sliding_window": ({}, {"attention": GQA | {"sliding_window": 3}}),
    "bias of latents": ({"attention": MLA}, {"attention": MLA | {"bias": True}}),
    "q_lora_rank": ({"attention": MLA}, {"attention": MLA | {"q_lora_rank": None}}),
    "fc.bias": ({}, {"fc": {"bias": True}}),
    "fc.input_norm joint": ({}, {"fc": {"input_norm": "joint"}}),
    "fc.input_norm per_plane": ({"fc": {"input_norm": "joint"}}, {"fc": {"input_norm": "per_plane"}}),
    "fc.present": ({"planes": 1}, {"planes": 1, "fc": {"present": False}}),
    "residual": ({}, {"residual": "post_norm"}),
    "recurrent": ({}, {"recurrent": "post_norm"}),
    "head_norm": ({}, {"head_norm": False}),
    "head_norm beside a norm that recurs": (
        {"recurrent": "post_norm"},
        {"recurrent": "post_norm", "head_norm": False},
    ),
    "hidden_norm": ({}, {"hidden_norm": "chained"}),
    "embedding_norm": ({}, {"embedding_norm": False}),
    "layers": ({}, {"layers": 2}),
    "activation": ({}, {"activation": "gelu"}),
    "lm_head": ({"draft_vocab_size": 64}, {"draft_vocab_size": 64, "lm_head": "embedding"}),
    "norm.kind": ({}, {"norm": {"kind": "layer", "eps": 1e-5}}),
    "norm.plus_one": ({}, {"norm": {"plus_one": True, "eps": 1e-5}}),
    "norm.eps": ({}, {"norm": {"eps": 1.0}}),
    "rope.theta": ({}, {"rope": {"theta": 50.0}}),
    "rope.layout": ({}, {"rope": ROPES["default"] | {"layout": "interleaved"}}),
    "rope.layout of latents": (
        {"attention": MLA},
        {"attention": MLA, "rope": ROPES["default"] | {"layout": "interleaved"}},
    ),
    "rope.partial_factor": ({}, {"rope": ROPES["default"] | {"partial_factor": 0.5}}),
    **{f"rope.type {kind}": ({}, {"rope": rope}) for kind, rope in ROPES.items() if kind not in {"default", "dynamic"}},
    "rope.mscale_all_dim of latents": (
        {"attention": MLA, "rope": ROPES["yarn"]},
        {"attention": MLA, "rope": ROPES["yarn"] | {"mscale_all_dim": 1.0}},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_statement_changes_the_output(name: str) -> None:
    """Tensors of one name and shape are the same in both, so the statement alone makes the difference."""
    first, second = (drafter_contract(**changes) for changes in CHANGES[name])
    inputs, weights, changed = random_inputs(first), random_weights(first), random_weights(second)
    kept = {key: value for key, value in weights.items() if key in changed and changed[key].shape == value.shape}
    before, after = (
        ReferenceDrafter(contract, tensors, torch.float64).forward(inputs.fc_input, inputs.tokens, steps=2)
        for contract, tensors in ((first, weights), (second, changed | kept))
    )
    assert (before[1].logits - after[1].logits).abs().max() > 1e-3
    assert (name == "recurrent") is torch.equal(before[0].logits, after[0].logits)


def test_d2t_absolute_is_read_as_the_ids_themselves() -> None:
    offset, absolute = drafter_contract(d2t="offset"), drafter_contract(d2t="absolute")
    weights = random_weights(offset)
    ids = torch.arange(40) + weights["d2t"]
    assert torch.equal(ReferenceDrafter(offset, weights).target_ids(), ids)
    assert torch.equal(ReferenceDrafter(absolute, weights | {"d2t": ids}).target_ids(), ids)


def test_planes_of_another_width_are_refused() -> None:
    inputs, drafter = random_inputs(drafter_contract()), make_drafter(drafter_contract())
    with pytest.raises(ValueError, match="fc_input is 64 wide, not 96: plane0, plane1, plane2"):
        drafter.forward(inputs.fc_input[:, :64], inputs.tokens)


def test_an_activation_that_nobody_knows_is_refused() -> None:
    inputs = random_inputs(drafter_contract())
    with pytest.raises(ValueError, match="'mish' is not one of silu"):
        make_drafter(drafter_contract(activation="mish")).forward(inputs.fc_input, inputs.tokens)


def test_bfloat16_stays_near_float32() -> None:
    contract = drafter_contract(attention=GQA | {"sinks": True}, fc={"input_norm": "joint"})
    inputs, weights = random_inputs(contract), random_weights(contract)
    (exact,) = ReferenceDrafter(contract, weights).forward(inputs.fc_input, inputs.tokens)
    (rough,) = ReferenceDrafter(contract, weights, torch.bfloat16).forward(inputs.fc_input, inputs.tokens)
    assert rough.logits.dtype == torch.bfloat16
    assert ((rough.logits.float() - exact.logits).norm(dim=-1) / exact.logits.norm(dim=-1)).median() < 0.03
