"""A server's arguments against the embedded contract. Stand-in: the record that SGLang keeps of its arguments."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_subjects, embedded_target
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.guards.arguments import check_arguments, read_server_arguments

READ, UNREAD = "0.5.23", "0.5.99"


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture
def drafter(tmp_path: Path) -> Path:
    (found,) = [item.value for item in embedded_subjects() if item.stage == "checkpoint"]
    return shutil.copytree(found, tmp_path / "drafter")


def record(drafter: Path | str, **changes: Any) -> SimpleNamespace:
    """Give the fields of SGLang's ServerArgs that are read, as a command leaves them."""
    fields: dict[str, Any] = {
        "model_path": str(embedded_target()),
        "speculative_algorithm": "EAGLE3",
        "speculative_draft_model_path": str(drafter),
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4,
        "speculative_adaptive": False,
        "context_length": 2048,
        "quantization": None,
        "speculative_draft_model_quantization": None,
        "enable_return_hidden_states": False,
        "enable_return_aux_hidden_states": False,
    }
    return SimpleNamespace(**fields | changes)


def set_ids(drafter: Path, ids: list[int]) -> None:
    path = drafter / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = ids
    path.write_text(json.dumps(config), encoding="utf-8")


def judged(contract: Contract, server_args: Any, installed: str = READ) -> dict[str, Finding]:
    """Give what failed or was left open, by clause."""
    found = check_arguments(contract, server_args, installed)
    assert any(item.verdict is Verdict.PASSED for item in found)
    return {item.clause: item for item in found if item.verdict in {Verdict.FAILED, Verdict.ERRORED}}


def test_a_sound_server_keeps_the_contract(contract: Contract, drafter: Path) -> None:
    assert judged(contract, record(drafter)) == {}


def test_the_story_both_causes_at_once(contract: Contract, drafter: Path) -> None:
    set_ids(drafter, [2, 4, 5])
    found = judged(contract, record(drafter, speculative_num_steps=1, speculative_num_draft_tokens=16))
    assert set(found) == {"launch.taps", "launch.draft-tokens"}
    taps, tokens = found["launch.taps"], found["launch.draft-tokens"]
    assert "ids [2, 4, 5]" in taps.observed
    assert "taps R[3], R[5], R[6]" in taps.observed
    assert taps.expected == "boundaries 2, 4, 5, in this order"
    assert '"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}' in taps.hint
    assert tokens.observed.startswith("2 of 16 draft tokens")
    assert (tokens.measure, tokens.bound) == (2, 16)


@pytest.mark.parametrize(
    ("changes", "clause"),
    [
        ({"speculative_algorithm": None}, "launch.algorithm"),
        ({"speculative_algorithm": "EAGLE"}, "launch.algorithm"),
        ({"speculative_num_steps": 2, "speculative_num_draft_tokens": 3}, "launch.draft-tokens"),
        ({"context_length": 4096}, "launch.context"),
        ({"json_model_override_args": '{"rope_theta": 10000}'}, "launch.context"),
        ({"quantization": "fp8"}, "launch.quantization"),
        ({"speculative_draft_model_path": str(embedded_target())}, "launch.draft-path"),
    ],
)
def test_each_argument_that_breaks_it(contract: Contract, drafter: Path, changes: dict[str, Any], clause: str) -> None:
    found = judged(contract, record(drafter, **changes))
    assert found[clause].verdict is Verdict.FAILED
    assert found[clause].hint


def test_a_tensor_that_is_not_read_fails_before_anything_is_loaded(contract: Contract, drafter: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = drafter / "model.safetensors"
    tensors = load_file(weights)
    save_file(tensors | {"fc.bias": tensors["norm.weight"].clone()}, weights)
    assert judged(contract, record(drafter))["checkpoint.tensors-read"].verdict is Verdict.FAILED


def test_another_target_fails_by_its_config(contract: Contract, drafter: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    config = json.loads((embedded_target() / "config.json").read_text(encoding="utf-8")) | {"num_hidden_layers": 12}
    (tmp_path / "other" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    found = judged(contract, record(drafter, model_path=str(tmp_path / "other")))
    assert found["launch.taps"].observed.startswith("another target is served, with num_hidden_layers 12 (declared 8)")


def test_a_version_that_is_not_promised_fails(contract: Contract, drafter: Path) -> None:
    found = judged(contract, record(drafter), "0.5.14")
    assert found["launch.engine"].observed == "sglang 0.5.14 runs"
    assert found["launch.engine"].expected == "sglang >=0.5.20,<0.5.24"


def test_of_a_version_that_was_not_read_no_rule_is_taken(contract: Contract, drafter: Path) -> None:
    """What it taps is left to the scheduler; the number of tokens is SGLang's own."""
    serving = contract.serving
    assert serving is not None
    wide = contract.model_copy(update={"serving": serving.model_copy(update={"engines": {"sglang": ">=0.5.20"}})})
    set_ids(drafter, [2, 4, 5])
    found = check_arguments(wide, record(drafter), UNREAD)
    assert "launch.taps" not in {item.clause for item in found}
    assert not [item for item in found if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]


def test_a_draft_from_a_hub_is_left_to_the_scheduler(contract: Contract) -> None:
    found = check_arguments(contract, record("someone/a-drafter"), READ)
    (taps,) = [item for item in found if item.clause == "launch.taps"]
    assert taps.verdict is Verdict.SKIPPED
    assert "is no folder here" in taps.observed


def test_switches_and_absent_values_are_written_as_a_command_would(drafter: Path) -> None:
    evidence = read_server_arguments(record(drafter, enable_return_hidden_states=True, context_length=None))
    written = {item.written: [word.text for word in item.values] for item in evidence.arguments}
    assert written["--enable-return-hidden-states"] == []
    assert written["--speculative-num-draft-tokens"] == ["4"]
    assert not {"--context-length", "--quantization", "--speculative-adaptive"} & set(written)
    assert evidence.draft is not None
    assert evidence.draft.config is not None
