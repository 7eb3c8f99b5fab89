"""What follows from the trainer: planes, storage, alignment, flags; and what a draft config says instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.commands.writing import TRAINERS as OFFERED
from eagle3_contracts.contract import GqaAttention, MlaAttention, load_contract
from eagle3_contracts.dialects import find_dialect, find_tool
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.writing.trainers import TRAINERS
from support.target_configs import TARGETS


def test_every_trainer_is_offered_and_was_read() -> None:
    assert set(OFFERED) == set(TRAINERS)
    for trainer in TRAINERS.values():
        tool = find_tool(trainer.tool)
        assert trainer.version in tool.read
        version = trainer.version if tool.versioned else None
        assert hasattr(find_dialect(trainer.tool, version, "LlamaForCausalLM", setting=trainer.setting), "resolve")
        assert tool.dataset_format is None or tool.dataset_format in trainer.formats
        assert all(said.source for said in (*trainer.rules.values(), *trainer.defaults.values(), trainer.draft_vocab))


@pytest.mark.parametrize(
    ("trainer", "final", "mask", "position", "head", "rows"),
    [
        ("specforge", "post_norm", (0,), (0,), "own", 32000),
        ("angelslim", "post_norm", (0,), (0,), "own", 32000),
        ("torchspec", "post_norm", (0,), (0,), "own", 32000),
        ("modelopt", "post_norm", (1,), (0,), "own", 128256),
        ("speculators", "pre_norm", (1,), (1,), "target", 128256),
    ],
)
def test_the_conventions_of_a_trainer(
    trainer: str,
    final: str,
    mask: tuple[int, ...],
    position: tuple[int, ...],
    head: str,
    rows: int,
    compose_from: Callable[..., Any],
) -> None:
    contract = compose_from("llama", trainer).contract
    assert [plane.boundary for plane in contract.stored_planes()] == [2, 40, 77, 80]
    assert contract.last_hidden_plane().state == final
    assert contract.norms_last_hidden() is (final == "pre_norm")
    assert (contract.alignment.loss_mask, contract.alignment.position) == (mask, position)
    assert (contract.drafter.lm_head, contract.drafter.draft_vocab_size) == (head, rows)


def test_speculators_norms_and_modelopts_chained_norm(compose_from: Callable[..., Any]) -> None:
    drafter = compose_from("llama", "speculators").contract.drafter
    assert (drafter.fc.input_norm, drafter.residual, drafter.recurrent) == ("joint", "post_norm", "post_norm")
    drafter = compose_from("llama", "modelopt").contract.drafter
    assert (drafter.hidden_norm, drafter.intermediate_size, drafter.rope.theta) == ("chained", 14336, 10000)


def test_eagle_trains_on_logits_and_stores_nothing(compose_from: Callable[..., Any]) -> None:
    contract = compose_from("llama", "eagle").contract
    assert contract.last_hidden_plane() is None
    assert contract.storage.planes == contract.drafter.input


def test_the_drafter_of_the_catalog_from_its_own_config(
    compose_from: Callable[..., Any], write_config: Callable[..., Path]
) -> None:
    """gpt-oss: the one public SpecForge config whose ids are not the default."""
    draft = {
        **{
            key: value for key, value in TARGETS["gpt-oss"].items() if key.startswith(("num_", "head", "hidden", "rms"))
        },
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "intermediate_size": 17280,
        "draft_vocab_size": 32000,
        "max_position_embeddings": 4096,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 17, 33]},
    }
    made = compose_from("gpt-oss", draft_config=write_config(draft, "draft")).contract
    known = load_contract("gpt-oss-120b-eagle3@1.0.0")
    assert made.drafter.model_copy(update={"training_steps": None}) == known.drafter.model_copy(update={"layers": 1})
    assert made.stored_planes("specforge") == known.stored_planes("specforge")


def test_a_draft_config_in_speculators_form(
    compose_from: Callable[..., Any], write_config: Callable[..., Path]
) -> None:
    layer = {**TARGETS["qwen3"], "model_type": "qwen3", "num_hidden_layers": 2}
    draft = {
        "speculators_model_type": "eagle3",
        "transformer_layer_config": layer,
        "draft_vocab_size": 32000,
        "norm_before_residual": False,
        "norm_before_fc": False,
        "fc_norm": True,
        "norm_output": False,
        "eagle_aux_hidden_state_layer_ids": [2, 18, 30],
    }
    made = compose_from("qwen3", "speculators", draft_config=write_config(draft, "draft"))
    drafter = made.contract.drafter
    assert isinstance(drafter.attention, GqaAttention)
    assert (drafter.attention.qk_norm, drafter.layers, drafter.lm_head) == (True, 2, "target_rows")
    assert (drafter.fc.input_norm, drafter.residual, drafter.recurrent) == ("per_plane", "pre_norm", "pre_norm")
    assert [plane.boundary for plane in made.contract.input_planes()] == [2, 18, 30]
    assert "planes" in made.facts.found


def test_an_mla_drafter(compose_from: Callable[..., Any], write_config: Callable[..., Path]) -> None:
    draft = {**TARGETS["kimi"]["text_config"], "num_hidden_layers": 1, "draft_vocab_size": 32000}
    made = compose_from("kimi", "torchspec", draft_config=write_config(draft, "draft")).contract
    assert isinstance(made.drafter.attention, MlaAttention)
    assert made.drafter.attention.q_lora_rank == 1536
    assert (made.drafter.rope.type, made.drafter.rope.original_max_position) == ("yarn", 4096)


def test_ids_mean_what_the_trainer_makes_of_them(compose_from: Callable[..., Any]) -> None:
    """The story's ids: +1 through SGLang's Llama, as they are in vLLM."""
    for trainer, boundaries in {"specforge": [3, 31, 59], "speculators": [2, 30, 58]}.items():
        made = compose_from("llama", trainer, layer_ids=[2, 30, 58]).contract
        assert [plane.boundary for plane in made.input_planes()] == boundaries
    with pytest.raises(SubjectError, match="exactly three non-negative ids"):
        compose_from("llama", layer_ids=[2, 30])


def test_an_embedding_plane_has_its_name(compose_from: Callable[..., Any]) -> None:
    contract = compose_from("llama", "angelslim", layer_ids=[-1, 2, 30]).contract
    assert [plane.name for plane in contract.planes] == ["embed", "r3", "r31", "final"]


def test_an_architecture_that_was_not_read_is_assumed_to_be_like_most(compose_from: Callable[..., Any]) -> None:
    made = compose_from({**TARGETS["llama"], "architectures": ["NovelForCausalLM"]}, layer_ids=[1, 39, 76])
    assert "not verified for specforge 0.2.0 with NovelForCausalLM" in made.facts.assumed["planes"].origin
    assert "# planes, assumed: --layer-ids" in made.text
