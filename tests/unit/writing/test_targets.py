"""What is found out of a target's config.json as it is published."""

from __future__ import annotations

import contextlib
import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.contract import load_contract
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.agreement import check_config
from eagle3_contracts.writing.composing import Request, compose
from support.target_configs import TARGETS

WELL_KNOWN = {
    "llama": "llama-3.3-70b-instruct-eagle3",
    "qwen3": "qwen3-8b-eagle3",
    "gpt-oss": "gpt-oss-120b-eagle3",
    "kimi": "kimi-k2.5-eagle3",
}


@pytest.mark.parametrize("trainer", ["specforge", "speculators", "modelopt", "angelslim", "torchspec", "eagle"])
@pytest.mark.parametrize("config", TARGETS)
def test_a_contract_for_every_target_and_trainer_reads_back_as_it_is(
    config: str, trainer: str, compose_from: Callable[..., Any], tmp_path: Path
) -> None:
    if (config, trainer) == ("gemma3", "speculators"):
        with pytest.raises(SubjectError, match="does not implement SupportsEagle3"):
            compose_from(config, trainer)
        return
    made = compose_from(config, trainer)
    path = tmp_path / "written.toml"
    path.write_text(made.text, encoding="utf-8")
    assert load_contract(path) == made.contract
    assert len(made.contract.drafter.input) == 3


@pytest.mark.parametrize("config", TARGETS)
def test_the_target_agrees_with_the_config_it_was_read_from(
    config: str, compose_from: Callable[..., Any], tmp_path: Path
) -> None:
    made = compose_from(config)
    check_config(TARGETS[config], made.contract, tmp_path)


@pytest.mark.parametrize(("config", "name"), WELL_KNOWN.items())
def test_a_well_known_target_is_described_as_in_the_catalog(
    config: str, name: str, compose_from: Callable[..., Any]
) -> None:
    found, known = compose_from(config).contract.target, load_contract(name).target
    for field in ("architecture", "config_path", "hidden_size", "num_hidden_layers", "vocab_size", "dtype", "norm"):
        assert getattr(found, field) == getattr(known, field), field
    assert known.quantization.startswith(found.quantization)


def test_gemma_has_plus_one_norms_a_scaled_embedding_and_a_tied_head(compose_from: Callable[..., Any]) -> None:
    made = compose_from("gemma3")
    target = made.contract.target
    assert (target.norm.plus_one, target.config_path, target.tied_embedding) == (True, "text_config", True)
    assert target.embed_scale == math.sqrt(5376)
    assert made.contract.drafter.norm.plus_one is False
    rope = made.contract.drafter.rope
    assert (rope.theta, rope.type, rope.factor) == (1000000.0, "linear", 8.0)


def test_scales_and_softcaps_are_read(compose_from: Callable[..., Any]) -> None:
    granite = {**TARGETS["llama"], "architectures": ["GraniteForCausalLM"], "embedding_multiplier": 12.0}
    made = compose_from({**granite, "logits_scaling": 8.0, "final_logit_softcapping": 30.0}, "modelopt")
    target = made.contract.target
    assert (target.embed_scale, target.logit_scale, target.logit_softcap) == (12.0, 0.125, 30.0)


def test_both_layouts_of_rotary_parameters_say_the_same(compose_from: Callable[..., Any]) -> None:
    old = TARGETS["llama"]
    new = {key: value for key, value in old.items() if key not in {"rope_theta", "rope_scaling"}}
    new["rope_parameters"] = {**old["rope_scaling"], "rope_theta": old["rope_theta"]}
    assert compose_from(old).contract.drafter.rope == compose_from(new).contract.drafter.rope


def test_what_config_json_does_not_say_is_assumed_in_a_comment(compose_from: Callable[..., Any]) -> None:
    made = compose_from("gpt-oss")
    assert "# assumed: config.json states no dtype" in made.text
    assert set(made.facts.assumed) >= {"target.dtype", "target.model", "drafter.draft_vocab_size", "planes"}
    assert not set(made.facts.assumed) & set(made.facts.found)
    assert "serving, left out" in made.text


def test_the_hub_cache_gives_name_and_revision(tmp_path: Path) -> None:
    folder = (
        tmp_path
        / "models--meta-llama--Llama-3.3-70B-Instruct"
        / "snapshots"
        / "6f6073b423013f6a7d4d9f39144961bfbfbc386b"
    )
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(TARGETS["llama"]), encoding="utf-8")
    made = compose(Request(target=folder, trainer="specforge"))
    assert made.contract.target.model == "meta-llama/Llama-3.3-70B-Instruct"
    assert made.contract.target.revision == folder.name
    assert made.contract.name == "llama-3.3-70b-instruct-eagle3"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"architectures": None}, "names no class"),
        ({"hidden_size": "wide"}, "gives 'wide' as hidden_size"),
        ({"vocab_size": None}, "says nothing of vocab_size"),
        ({"num_hidden_layers": True}, "gives 'True' as num_hidden_layers"),
        ({"num_hidden_layers": 4}, "does not capture planes from its default"),
        ({"intermediate_size": 0}, "says nothing of intermediate_size"),
    ],
)
def test_what_a_contract_cannot_do_without_is_asked_for(
    changes: dict[str, Any], sentence: str, compose_from: Callable[..., Any]
) -> None:
    with pytest.raises(SubjectError, match=sentence) as caught:
        compose_from({**TARGETS["llama"], **changes})
    assert caught.value.remedy


@pytest.mark.parametrize("layers", [2, 4])
def test_a_target_that_is_too_shallow_is_told_no_ids_of_another_one(
    layers: int, compose_from: Callable[..., Any]
) -> None:
    with pytest.raises(SubjectError) as caught:
        compose_from({**TARGETS["llama"], "num_hidden_layers": layers})
    asked = caught.value.remedy.partition(":")[2]
    assert "--layer-ids ID ID ID" in asked
    assert not any(character.isdigit() for character in asked)


_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(changes=st.dictionaries(st.sampled_from(sorted(TARGETS["llama"])), _JUNK, max_size=4))
def test_any_config_gives_a_valid_contract_or_a_sentence(
    changes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("config") / "config.json"
    path.write_text(json.dumps({**TARGETS["llama"], **changes}), encoding="utf-8")
    with contextlib.suppress(SubjectError):
        made = compose(Request(target=path, trainer="specforge"))
        assert tomllib.loads(made.text)["target"]["hidden_size"] == made.contract.target.hidden_size
