"""speculators 0.9.0: what save_pretrained writes passes every clause; what from_pretrained takes in silence fails one.

Real: Eagle3DraftModel, its config, its files. vLLM, which serves them, is read, not run.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.drafter import GqaAttention
from eagle3_contracts.findings import Verdict
from support.checkpoints import clauses_with, judge_export, promise_engines, tell
from support.drafters import GQA, ROPES, VOCAB, drafter_contract, random_weights, rope_parameters

pytestmark = pytest.mark.peer("speculators")

Peer = Callable[[str], ModuleType]
Tensors = dict[str, Tensor]
VLLM = {"vllm": ">=0.25,<=0.33.0"}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "every flag of 0.9's command line": {
        "residual": "post_norm",
        "recurrent": "post_norm",
        "fc": {"input_norm": "joint"},
    },
    "fc_norm": {"fc": {"input_norm": "per_plane"}},
    "attention_bias": {"attention": GQA | {"bias": True}},
    "qwen3": {"attention": GQA | {"qk_norm": True}},
    "three layers": {"layers": 3},
    "yarn": {"rope": ROPES["yarn"]},
}


def contract_of(**changes: Any) -> Contract:
    return promise_engines(drafter_contract(dtype="float32", **changes), VLLM)


@pytest.fixture
def export(peer: Peer, tmp_path: Path) -> Callable[[Contract], Path]:
    def save(contract: Contract) -> Path:
        weights = random_weights(contract)
        weights["embed_tokens.weight"] *= 0.4  # else it is what torch starts an embedding with
        t2d = torch.zeros(VOCAB, dtype=torch.bool)
        t2d[weights["d2t"] + torch.arange(len(weights["d2t"]))] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verifier = _write_verifier(peer, contract, tmp_path / "verifier")
            model = _build_model(peer, contract, verifier)
            model.load_state_dict(weights | {"t2d": t2d}, strict=False)
            model.save_pretrained(tmp_path / "out")
        return tmp_path / "out"

    return save


@pytest.mark.parametrize("name", VARIANTS)
def test_a_good_export_passes_every_clause(name: str, export: Callable[[Contract], Path]) -> None:
    contract = contract_of(**VARIANTS[name])
    findings = judge_export(contract, export(contract), "speculators")
    assert tell(findings) == ""
    passed = clauses_with(findings, Verdict.PASSED)
    assert passed >= {"taps", "engine-tensors", "norm-flags", "rope", "dead-tensors", "d2t-ids", "t2d-agrees"}


def test_two_planes_are_an_fc_for_three_to_vllms_llama_class(export: Callable[[Contract], Path]) -> None:
    """It counts planes in eagle_config, which this form does not have (vllm issue #54526)."""
    contract = contract_of(planes=2)
    findings = judge_export(contract, export(contract), "speculators")
    assert clauses_with(findings, Verdict.FAILED) == {"fc-width"}


def test_sglang_does_not_read_this_form(export: Callable[[Contract], Path]) -> None:
    contract = promise_engines(contract_of(), {"sglang": ">=0.5.12,<0.5.24"})
    findings = judge_export(contract, export(contract), "speculators")
    assert clauses_with(findings, Verdict.FAILED) == {"engine-start"}


def test_an_absent_norm_flag_is_true_to_vllm(export: Callable[[Contract], Path]) -> None:
    """The class of speculators has false for its default (algos.py against models/eagle3/config.py)."""
    contract = contract_of()
    folder = export(contract)
    change_config(folder, lambda config: config.pop("norm_before_residual"))
    assert clauses_with(judge_export(contract, folder, "speculators"), Verdict.FAILED) == {"norm-flags"}


def _drop(*names: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {name: tensor for name, tensor in tensors.items() if name not in names}


def _rename(tensors: Tensors) -> Tensors:
    return {name.replace("layers.0.", "midlayer."): tensor for name, tensor in tensors.items()}


def _absolute(tensors: Tensors) -> Tensors:
    return tensors | {"d2t": tensors["d2t"] + torch.arange(len(tensors["d2t"]))}


def _bias(tensors: Tensors) -> Tensors:
    return tensors | {"fc.bias": torch.ones(32)}


SILENT: dict[str, tuple[Callable[[Tensors], Tensors], str]] = {
    "no fc": (_drop("fc.weight"), "tensors-present"),
    "no hidden_norm": (_drop("layers.0.hidden_norm.weight"), "tensors-present"),
    "no lm_head": (_drop("lm_head.weight"), "tensors-present"),
    "no d2t": (_drop("d2t"), "tensors-present"),
    "midlayer names": (_rename, "tensors-present"),
    "a bias nobody reads": (_bias, "tensors-read"),
    "ids in d2t": (_absolute, "d2t-reading"),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_the_real_loader_takes_in_silence_fails(name: str, export: Callable[[Contract], Path], peer: Peer) -> None:
    """from_pretrained raises nothing: it starts what is missing at random, and tells in a log at most."""
    spoil, clause = SILENT[name]
    contract = contract_of()
    folder = export(contract)
    save_file(spoil(load_file(folder / "model.safetensors")), folder / "model.safetensors", metadata={"format": "pt"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer("speculators.models.eagle3").Eagle3DraftModel.from_pretrained(folder)
    assert clause in clauses_with(judge_export(contract, folder, "speculators"), Verdict.FAILED)


def change_config(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    change(config)
    path.write_text(json.dumps(config), encoding="utf-8")


def _build_model(peer: Peer, contract: Contract, verifier: Path) -> Any:
    drafter, models = contract.drafter, peer("speculators.models.eagle3")
    config, greedy = peer("speculators.config"), peer("speculators.proposals.greedy")
    speculators = config.SpeculatorsConfig(
        algorithm="eagle3",
        proposal_methods=[greedy.GreedyTokenProposalConfig(speculative_tokens=3)],
        default_proposal_method="greedy",
        verifier=config.VerifierConfig(name_or_path=str(verifier), architectures=["LlamaForCausalLM"]),
    )
    return models.Eagle3DraftModel(
        models.Eagle3SpeculatorConfig(
            transformer_layer_config=_layer_config(peer, contract),
            draft_vocab_size=drafter.draft_vocab_size,
            norm_before_residual=drafter.residual == "post_norm",
            norm_before_fc=drafter.fc.input_norm == "joint",
            fc_norm=drafter.fc.input_norm == "per_plane",
            norm_output=drafter.recurrent == "post_norm",
            eagle_aux_hidden_state_layer_ids=list(range(1, len(drafter.input) + 1)),
            speculators_config=speculators,
        )
    ).float()


def _write_verifier(peer: Peer, contract: Contract, folder: Path) -> Path:
    """Write a target of random weights, from which from_pretrained takes what it does not find."""
    transformers, target = peer("transformers"), contract.target
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=target.vocab_size,
        hidden_size=target.hidden_size,
        intermediate_size=48,
        num_hidden_layers=target.num_hidden_layers,
        num_attention_heads=4,
        tie_word_embeddings=False,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def _layer_config(peer: Peer, contract: Contract) -> Any:
    drafter, transformers = contract.drafter, peer("transformers")
    attention = drafter.attention
    assert isinstance(attention, GqaAttention)
    return (transformers.Qwen3Config if attention.qk_norm else transformers.LlamaConfig)(
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
    )
