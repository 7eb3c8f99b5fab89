"""SpecForge 0.2.0: what its own exporter writes for SGLang passes every clause, and what it lets through fails one.

Real: the draft model's state, export_to_sglang with its checks. Stand-in: ``specforge.core.loss``, a Triton kernel,
which the package imports and the export never calls. SGLang itself is read, not run.
"""

from __future__ import annotations

import json
import sys
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
from support.drafters import VOCAB, drafter_contract, random_weights, rope_parameters

pytestmark = pytest.mark.peer("specforge")

Peer = Callable[[str], ModuleType]
SGLANG = {"sglang": ">=0.5.12,<0.5.24"}
KEY = "eagle_aux_hidden_state_layer_ids"


@pytest.fixture
def contract() -> Contract:
    """Three planes at boundaries 1 to 3, the embedding borrowed, stored in bfloat16 as the exporter does."""
    return promise_engines(drafter_contract(final="post_norm", embedding="target", dtype="bfloat16"), SGLANG)


@pytest.fixture
def export(monkeypatch: pytest.MonkeyPatch, peer: Peer, tmp_path: Path) -> Callable[..., Path]:
    stand_in = ModuleType("specforge.core.loss")
    stand_in.__dict__["LogSoftmaxLoss"] = type("LogSoftmaxLoss", (), {})
    peer("specforge.core")
    if "specforge.core.loss" not in sys.modules:
        monkeypatch.setitem(sys.modules, "specforge.core.loss", stand_in)

    def run(contract: Contract, **config: Any) -> Path:
        draft, state = tmp_path / "draft.json", tmp_path / "training_state.pt"
        draft.write_text(json.dumps(draft_config(contract) | config), encoding="utf-8")
        torch.save({"strategy": "eagle3", "draft_state_dict": draft_state(contract)}, state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Path(
                peer("specforge.export.to_sglang").export_to_sglang(str(state), str(draft), str(tmp_path / "out"))
            )

    return run


def draft_state(contract: Contract) -> dict[str, Tensor]:
    """Give trained tensors under the draft model's own names."""
    weights = random_weights(contract)
    t2d = torch.zeros(VOCAB, dtype=torch.bool)
    t2d[weights["d2t"] + torch.arange(len(weights["d2t"]))] = True
    named = {name.replace("layers.0.", "midlayer."): tensor for name, tensor in weights.items()}
    return named | {"t2d": t2d}


def draft_config(contract: Contract) -> dict[str, Any]:
    """Write the draft's config as SpecForge's own configs are: flat, ids in eagle_config."""
    drafter, attention = contract.drafter, contract.drafter.attention
    assert isinstance(attention, GqaAttention)
    rope = rope_parameters(contract)
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "vocab_size": contract.target.vocab_size,
        "draft_vocab_size": drafter.draft_vocab_size,
        "hidden_size": drafter.hidden_size,
        "intermediate_size": drafter.intermediate_size,
        "num_hidden_layers": 1,
        "num_attention_heads": attention.heads,
        "num_key_value_heads": attention.kv_heads,
        "head_dim": attention.head_dim,
        "hidden_act": drafter.activation,
        "max_position_embeddings": drafter.max_position,
        "rms_norm_eps": contract.target.norm.eps,
        "rope_theta": rope["rope_theta"],
        "pad_token_id": 0,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "eagle_config": {KEY: [plane.boundary - 1 for plane in contract.input_planes()]},
    }


def test_a_good_export_passes_every_clause(contract: Contract, export: Callable[..., Path]) -> None:
    findings = judge_export(contract, export(contract), "specforge")
    assert tell(findings) == ""
    passed = clauses_with(findings, Verdict.PASSED)
    assert passed >= {"taps", "engine-tensors", "norm-flags", "rope", "dead-tensors", "d2t-ids", "t2d-agrees"}


def test_both_layouts_of_the_rope_are_written(contract: Contract, export: Callable[..., Path]) -> None:
    """So that SGLang 0.5.9, which knows the old one alone, reads the base as well."""
    folder = export(contract)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["rope_theta"] == config["rope_parameters"]["rope_theta"] == 5000.0
    older = promise_engines(contract, {"sglang": ">=0.5.9,<0.5.12"})
    assert tell(judge_export(older, folder, "specforge")) == ""


def test_ids_of_a_run_are_not_written_and_the_engine_falls_back(
    contract: Contract, export: Callable[..., Path]
) -> None:
    """model.aux_hidden_state_layer_ids of a run reaches the capture alone; the export knows the draft's config."""
    findings = judge_export(contract, export(contract, eagle_config={}), "specforge")
    assert clauses_with(findings, Verdict.FAILED) == {"taps"}
    assert "its default ids give boundaries 2, 4, 5" in tell(findings)


def test_the_trainers_norm_output_is_another_thing_to_the_engine(
    contract: Contract, export: Callable[..., Path]
) -> None:
    """SpecForge norms before lm_head by that flag, SGLang hands the normed state on."""
    findings = judge_export(contract, export(contract, norm_output=True), "specforge")
    assert clauses_with(findings, Verdict.FAILED) == {"norm-flags"}


def test_flags_that_the_trainer_ignores_are_exported_all_the_same(
    contract: Contract, export: Callable[..., Path]
) -> None:
    """num_hidden_layers and attention_bias change nothing in training, and what the engine builds."""
    findings = judge_export(contract, export(contract, num_hidden_layers=3, attention_bias=True), "specforge")
    assert clauses_with(findings, Verdict.FAILED) == {"layer-count", "engine-tensors", "bias-flags"}


def test_ids_in_d2t_pass_the_exporters_own_checks(contract: Contract, export: Callable[..., Path]) -> None:
    folder = export(contract)
    tensors = load_file(folder / "model.safetensors")
    tensors["d2t"] = tensors["d2t"] + torch.arange(len(tensors["d2t"]))
    save_file(tensors, folder / "model.safetensors")
    assert "d2t-reading" in clauses_with(judge_export(contract, folder, "specforge"), Verdict.FAILED)
