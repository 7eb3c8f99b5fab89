"""``guard`` on first batches made of recorded states of the embedded target, as they reach the drafter at step zero."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
import torch

from eagle3_contracts import StepZero
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.guards import GuardError, guard
from support.recordings import Wiring, make_samples

FED = (2, 4, 5)


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture(scope="module")
def embedding(contract: Contract) -> Contract:
    """The embedded contract as the story's drafter was trained: the embedding first, then two planes."""
    document: dict[str, Any] = json.loads(contract.model_dump_json(by_alias=True, exclude_none=True))
    document["planes"] = [{"name": "embed", "boundary": 0}, *document["planes"]]
    document["drafter"]["input"] = ["embed", "low", "mid"]
    document["storage"]["planes"] = ["embed", *document["storage"]["planes"]]
    document["storage"]["formats"] = {}
    return Contract.model_validate_json(json.dumps(document))


def batch(boundaries: tuple[int, ...] = FED, *, shift: int = 1, normed: bool = False, count: int = 6) -> StepZero:
    """Pack samples with a row of padding, as speculators packs them; ``shift``: of the token beside a state."""
    parts: dict[str, list[torch.Tensor]] = {"fed": [], "tokens": [], "last": [], "mask": [], "documents": []}
    for number, sample in enumerate(make_samples(Wiring((*boundaries, 8), normed))[:count]):
        planes = torch.as_tensor(sample.planes).bfloat16()
        rows = len(sample.tokens) - 2
        parts["fed"].append(planes[:-1, :rows].permute(1, 0, 2).reshape(rows, -1))
        parts["tokens"].append(torch.tensor(sample.tokens)[shift : shift + rows])
        parts["last"].append(planes[-1, 1 : rows + 1])
        parts["mask"].append(torch.tensor(sample.mask)[1 : rows + 1])
        parts["documents"].append(torch.full((rows,), number))
    whole = {name: torch.nn.functional.pad(torch.cat(items), (0,) * (2 * items[0].ndim - 1) + (1,))[None]
             for name, items in parts.items()}  # fmt: skip
    whole["documents"][:, -1] = -1
    return StepZero(whole["fed"], whole["tokens"], whole["last"], whole["mask"], None, whole["documents"])


def failed(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {item.clause: item for item in findings if item.verdict is Verdict.FAILED and item.level is Level.MUST}


def norm_weight() -> torch.Tensor:
    from safetensors.torch import load_file

    (weights,) = embedded_target().glob("*.safetensors")
    return load_file(weights)["model.norm.weight"]


def test_a_sound_batch_passes_what_it_can_tell(contract: Contract) -> None:
    findings = guard(batch(), contract, norm_weight=norm_weight())
    assert {item.verdict for item in findings} <= {Verdict.PASSED, Verdict.SKIPPED}
    passed = {item.clause for item in findings if item.verdict is Verdict.PASSED}
    assert passed >= {"loader.fc-input", "loader.last-hidden", "loader.padding", "loader.nonfinite", "loader.runs"}


def test_the_story_the_embedding_where_a_layer_is_declared(contract: Contract) -> None:
    """The files store [embed, ...] and the loader feeds all planes but the last."""
    with pytest.raises(GuardError) as caught:
        guard(batch((0, 2, 4)), contract)
    told = str(caught.value)
    assert told.startswith(f"eagle3-contracts: the batch does not keep the contract {CONTRACT}")
    assert "fc is fed cat(R[0], not R[0], not R[0])" in told
    assert "cat(low (2), mid (4), high (5))" in told
    assert "the loader feeds all planes but the last" in " ".join(told.split())
    assert [item.clause for item in caught.value.findings] == ["loader.fc-input"]


def test_the_story_as_it_was_trained_passes(embedding: Contract) -> None:
    findings = guard(batch((0, 2, 4)), embedding)
    (shift,) = [item for item in findings if item.clause == "loader.token-shift"]
    assert shift.observed == "the token beside state t is x[t+1], by rows of repeated tokens"
    assert not failed(findings)


@pytest.mark.parametrize("shift", [0, 2])
def test_a_shift_that_is_missing_or_made_twice_is_told_by_the_embedding(embedding: Contract, shift: int) -> None:
    found = failed(guard(batch((0, 2, 4), shift=shift), embedding, raises=False))
    assert set(found) == {"loader.token-shift"}
    assert found["loader.token-shift"].measure == shift


@pytest.mark.parametrize(("boundaries", "fed"), [((2, 0, 4), "not R[0], R[0]"), ((2, 4, 5), "not R[0], not R[0]")])
def test_an_embedding_elsewhere_or_nowhere_fails(embedding: Contract, boundaries: tuple[int, ...], fed: str) -> None:
    found = failed(guard(batch(boundaries), embedding, raises=False))
    assert set(found) == {"loader.fc-input"}
    assert f"cat({fed}, not R[0])" in found["loader.fc-input"].observed


def test_a_plane_missing_fails_by_its_width_and_nothing_else_is_guessed(contract: Contract) -> None:
    findings = guard(batch((2, 4)), contract, raises=False)
    assert set(failed(findings)) == {"loader.fc-input"}
    assert "128 wide, 2 planes of 64" in failed(findings)["loader.fc-input"].observed
    assert "loader.nonfinite" not in {item.clause for item in findings}


@pytest.mark.parametrize("normed", [True, False])
def test_the_norm_of_the_final_state_is_told_by_its_weight(contract: Contract, normed: bool) -> None:  # noqa: FBT001
    found = failed(guard(batch(normed=normed), contract, norm_weight=norm_weight(), raises=False))
    assert set(found) == ({"loader.last-hidden"} if normed else set())


def change(step: StepZero, **parts: Any) -> StepZero:
    return dataclasses.replace(step, **parts)


def spoil(step: StepZero, name: str, value: float, place: int = 3) -> StepZero:
    changed = getattr(step, name).clone()
    changed[0, place] = value
    return change(step, **{name: changed})


@pytest.mark.parametrize(
    ("spoilt", "clause"),
    [
        (lambda step: spoil(step, "fc_input", float("nan")), "loader.nonfinite"),
        (lambda step: spoil(step, "last_hidden", float("inf")), "loader.nonfinite"),
        (lambda step: spoil(step, "tokens", 256), "loader.stored-tokens"),
        (lambda step: spoil(step, "tokens", -1), "loader.stored-tokens"),
        (lambda step: spoil(step, "mask", 7), "loader.padding"),
        (lambda step: spoil(step, "mask", 1, -1), "loader.padding"),
        (lambda step: change(step, mask=torch.zeros_like(step.mask)), "loader.padding"),
        (lambda step: change(step, tokens=step.tokens[:, 1:]), "loader.runs"),
        (lambda step: change(step, mask=step.mask[:, 1:]), "loader.runs"),
        (lambda step: change(step, last_hidden=step.last_hidden[..., :32]), "loader.last-hidden"),
        (lambda step: change(step, fc_input=step.fc_input.long()), "loader.fc-input"),
        (
            lambda step: change(step, targets=step.tokens, vocabulary=torch.arange(256) < 100),
            "loader.draft-vocabulary",
        ),
    ],
)
def test_each_part_that_is_wrong_fails(contract: Contract, spoilt: Any, clause: str) -> None:
    assert set(failed(guard(spoilt(batch()), contract, raises=False))) == {clause}


def test_large_but_finite_states_are_no_fault(contract: Contract) -> None:
    step = batch()
    assert not failed(guard(change(step, fc_input=torch.full_like(step.fc_input, 3e38)), contract, raises=False)).get(
        "loader.nonfinite"
    )


def test_norms_inform_and_never_decide(contract: Contract) -> None:
    findings = guard(batch((5, 2, 4)), contract)
    violated = [item for item in findings if item.verdict is Verdict.FAILED]
    assert violated
    assert {(item.clause, item.level) for item in violated} == {("dataset.norm-range", Level.SHOULD)}


def test_too_few_repeated_tokens_are_no_pass(embedding: Contract, contract: Contract) -> None:
    few = batch((0, 2, 4), count=1)
    few = StepZero(few.fc_input[:, :3], few.tokens[:, :3], few.last_hidden[:, :3])
    with pytest.raises(GuardError, match="COULD NOT BE CHECKED against"):
        guard(few, embedding)
    assert guard(few, embedding, serves_unchecked=True)
    skipped = [item for item in guard(few, contract) if item.verdict is Verdict.SKIPPED]
    assert "loader.fc-input" in {item.clause for item in skipped}


def test_a_batch_of_no_known_trainer_says_which_are(contract: Contract) -> None:
    with pytest.raises(GuardError, match="a batch with a, b is none that is known"):
        guard({"a": 1, "b": 2}, contract)
    with pytest.raises(GuardError, match="a batch of type list"):
        guard([1, 2], contract)


def test_a_contract_is_found_by_its_name() -> None:
    assert guard(batch(), CONTRACT)


def test_the_batch_is_left_as_it_was(contract: Contract) -> None:
    step, same = batch(), batch()
    guard(step, contract, norm_weight=norm_weight())
    assert all(
        torch.equal(getattr(step, name), getattr(same, name))
        for name in ("fc_input", "tokens", "last_hidden", "mask", "documents")
    )
