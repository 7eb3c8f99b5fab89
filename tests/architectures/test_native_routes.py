"""The native routes compute what transformers' LlamaForCausalLM does, for every variant that they accept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, NAME, VERSION, embedded_target
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.goldens import open_golden
from eagle3_contracts.subjects.targets import open_target
from support.scaling import scale_down
from support.targets import kimi_toy, toy_tokens

pytest.importorskip("transformers.models.llama", reason="transformers is not installed: eagle3-contracts[transformers]")

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 50000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
LINEAR = {"rope_type": "linear", "rope_theta": 50000.0, "factor": 4.0}


def run_transformers(folder: Path, tokens: list[int]) -> tuple[list[np.ndarray], np.ndarray]:
    from transformers import LlamaForCausalLM

    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        given = model(input_ids=torch.tensor([tokens]), output_hidden_states=True, use_cache=False)
    return [state[0].numpy() for state in given.hidden_states], given.logits[0].numpy()


def assert_agrees(states: ReferenceStates, folder: Path, tokens: list[int], bound: float = 2e-5) -> None:
    """Hold a route against transformers, whose last hidden state is the one after the final norm."""
    hidden, logits = run_transformers(folder, tokens)
    expected = [*hidden[:-1], hidden[-1], logits]
    found = [*states.boundaries[:-1], states.final, states.logits]
    for own, theirs in zip(found, expected, strict=True):
        assert np.abs(own - theirs).max() <= bound * np.abs(theirs).max()


@pytest.mark.parametrize("route", ["numpy", "torch"])
def test_the_routes_agree_with_transformers_on_the_golden_target(route: Any) -> None:
    target = open_target(str(embedded_target()), load_contract(CONTRACT), route=route)
    tokens = toy_tokens(96, distinct=90)
    assert_agrees(target.reference(tokens), embedded_target(), tokens)


def test_the_recorded_states_agree_with_transformers() -> None:
    golden = open_golden(NAME, VERSION)
    exact = [at for at, item in enumerate(golden.manifest["sequences"]) if item["dtype"] == "float32"]
    assert exact
    for number in exact:
        states = golden.states(number)
        assert_agrees(states, golden.target, states.token_ids.tolist())


def _biased(weights: dict[str, np.ndarray], config: dict[str, Any]) -> None:
    draw = np.random.default_rng(5)
    config |= {"attention_bias": True, "mlp_bias": True}
    for name in [name for name in weights if name.endswith("_proj.weight")]:
        size = weights[name].shape[0]
        weights[name.removesuffix("weight") + "bias"] = draw.standard_normal(size).astype(np.float32)


def _tied(weights: dict[str, np.ndarray], config: dict[str, Any]) -> None:
    del weights["lm_head.weight"]
    config["tie_word_embeddings"] = True


def _scaled(rope: dict[str, Any]) -> Callable[[dict[str, np.ndarray], dict[str, Any]], None]:
    def change(_: dict[str, np.ndarray], config: dict[str, Any]) -> None:
        del config["rope_theta"]
        config["rope_parameters"] = rope

    return change


VARIANTS = {"biased": _biased, "tied": _tied, "llama3": _scaled(LLAMA3), "linear": _scaled(LINEAR)}


@pytest.mark.parametrize("route", ["numpy", "torch"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_routes_agree_with_transformers_on_variants(tmp_path: Path, variant: str, route: Any) -> None:
    from safetensors.numpy import load_file, save_file

    folder, tokens = kimi_toy(tmp_path / "toy", layers=8), toy_tokens(96)
    plain = open_target(str(folder), _contract(), route=route).reference(tokens)
    weights, config = load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    VARIANTS[variant](weights, config)
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    changed = open_target(str(folder), _contract(tied=variant == "tied"), route=route).reference(tokens)
    assert np.abs(changed.logits - plain.logits).max() > 0.1
    assert_agrees(changed, folder, tokens, bound=1e-4)


def _contract(*, tied: bool = False) -> Contract:
    contract = scale_down(load_contract(CONTRACT))
    return contract.model_copy(update={"target": contract.target.model_copy(update={"tied_embedding": tied})})


def test_a_contract_that_a_model_contradicts_never_leaves_a_part_of_it(subject: Any) -> None:
    scale = subject.contract.target.logit_scale * 2
    values = subject.contract.target.model_copy(update={"logit_scale": scale})
    with pytest.raises(SubjectError, match="computes otherwise than"):
        open_target(str(subject.folder), subject.contract.model_copy(update={"target": values}))
