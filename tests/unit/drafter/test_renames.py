"""Other tools' names become canonical ones."""

from __future__ import annotations

import pytest

from eagle3_contracts.drafter import RENAMES, canonical_names, expected_tensors
from support.drafters import drafter_contract

CANONICAL = set(expected_tensors(drafter_contract()))


@pytest.mark.parametrize("tool", ["specforge", "eagle", "angelslim", "torchspec"])
def test_midlayer_is_the_first_layer(tool: str) -> None:
    written = {name.replace("layers.0.", "midlayer.") for name in CANONICAL} | {"t2d"}
    renamed = canonical_names(written, tool)
    assert set(renamed.values()) == CANONICAL
    assert renamed["midlayer.self_attn.q_proj.weight"] == "layers.0.self_attn.q_proj.weight"


@pytest.mark.parametrize("tool", RENAMES)
def test_canonical_names_are_understood_as_they_are(tool: str) -> None:
    assert canonical_names(CANONICAL, tool) == {name: name for name in CANONICAL}


def test_a_prefix_is_replaced_at_the_start_alone_and_others_in_turn() -> None:
    assert canonical_names(["draft_model.midlayer.mlp.up_proj.weight"], "specforge") == {
        "draft_model.midlayer.mlp.up_proj.weight": "layers.0.mlp.up_proj.weight"
    }
    assert canonical_names(["other.midlayer.x"], "eagle") == {"other.midlayer.x": "other.midlayer.x"}
    assert canonical_names(["eagle_module.fc.weight"], "modelopt") == {"eagle_module.fc.weight": "fc.weight"}


def test_what_belongs_to_the_verifier_is_no_weight_of_the_drafter() -> None:
    assert canonical_names(["verifier_norm.weight", "verifier_lm_head.weight", "t2d"], "speculators") == {}


def test_two_names_of_one_tensor_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"'midlayer\.hidden_norm\.weight' both become 'layers\.0\.hidden_norm\.weight'"
    ):
        canonical_names(["layers.0.hidden_norm.weight", "midlayer.hidden_norm.weight"], "eagle")


def test_a_tool_without_a_table_is_no_guess() -> None:
    with pytest.raises(KeyError):
        canonical_names([], "unheard-of")


def test_every_table_says_where_it_was_read() -> None:
    assert all(rules.source for rules in RENAMES.values())
