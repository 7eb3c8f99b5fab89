"""What a server says of its own arguments: read by name, refused by type, kept without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.faults.injecting.servers import Engine
from eagle3_contracts.faults.injecting.servers.information import server_info, with_internal_states
from eagle3_contracts.subjects.servers.arguments import read_arguments, tell_role
from eagle3_contracts.subjects.servers.failing import ServerProblemError


def info(**changes: object) -> dict[str, Any]:
    return with_internal_states(server_info(Engine(), "eagle3") | changes)


def test_the_arguments_of_a_drafting_server_are_read() -> None:
    arguments, problems = read_arguments(info())
    assert problems == ()
    assert (arguments.algorithm, arguments.steps, arguments.topk, arguments.draft_tokens) == ("EAGLE3", 3, 1, 4)
    assert (arguments.context_length, arguments.chunked_prefill, arguments.radix_cache) == (2048, -1, False)
    assert (arguments.dtype, arguments.draft_dtype, arguments.quantization) == ("float32", "float32", None)
    assert (arguments.returns_hidden_states, arguments.capture_ids, arguments.device) == (True, None, "cpu")
    assert arguments.asked_draft_tokens == 4
    assert arguments.target is not None
    assert arguments.target.config is not None
    assert arguments.draft is not None
    assert arguments.draft.config is not None
    assert arguments.draft.config["architectures"] == ["LlamaForCausalLMEagle3"]


FIELDS = {
    "speculative_num_steps": "steps",
    "speculative_num_draft_tokens": "draft_tokens",
    "speculative_algorithm": "algorithm",
    "model_path": "target",
    "disable_radix_cache": "radix_cache",
    "return_aux_hidden_state_layer_ids": "capture_ids",
    "quantization": "quantization",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("speculative_num_steps", "3"),
        ("speculative_num_steps", True),
        ("speculative_num_steps", 3.0),
        ("speculative_num_draft_tokens", 1 << 60),
        ("speculative_algorithm", ["EAGLE3"]),
        ("model_path", 7),
        ("disable_radix_cache", "no"),
        ("disable_radix_cache", 0),
        ("return_aux_hidden_state_layer_ids", [1, "3", 4]),
        ("return_aux_hidden_state_layer_ids", 3),
        ("quantization", {}),
    ],
)
def test_an_argument_of_another_type_is_a_problem_that_names_it_and_is_not_believed(name: str, value: object) -> None:
    arguments, problems = read_arguments(info(**{name: value}))
    assert [problem.kind for problem in problems] == ["malformed"]
    assert name in problems[0].reason
    assert getattr(arguments, FIELDS[name]) is None


@pytest.mark.parametrize("answer", [None, [], "text", 3, {}, {"detail": "Not Found"}])
def test_what_is_no_table_of_arguments_is_malformed(answer: object) -> None:
    with pytest.raises(ServerProblemError) as caught:
        read_arguments(answer)
    assert caught.value.problem.kind == "malformed"


def test_no_secret_is_kept() -> None:
    given = info(api_key="hunter2", admin_api_key="hunter2", ssl_keyfile_password="hunter2")  # noqa: S106
    given["launch_command"] += " --api-key hunter2"
    arguments, _ = read_arguments(given)
    assert "hunter2" not in repr(arguments)
    assert arguments.raw["speculative_num_steps"] == 3


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("--speculative-num-draft-tokens 16 --port 1", 16),
        ("--speculative-num-draft-tokens=8", 8),
        ("--speculative-num-draft-tokens 16 --speculative-num-draft-tokens 6", 6),
        ("--speculative-num-draft-tokens", None),
        ("--speculative-num-draft-tokens many", None),
        ("--model-path 'broken", None),
        ("", None),
    ],
)
def test_what_was_asked_for_stands_in_the_command_that_the_server_repeats(command: str, asked: int | None) -> None:
    arguments, problems = read_arguments(info(launch_command=command))
    assert (arguments.asked_draft_tokens, problems) == (asked, ())


def test_a_context_left_to_the_engine_is_the_models_or_what_one_request_may_have(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 512}), encoding="utf-8")
    assert read_arguments(info(context_length=None, model_path=str(tmp_path)))[0].context_length == 512
    away = info(context_length=None, model_path="someone/model", max_req_input_len=1018)
    assert read_arguments(away)[0].context_length == 1024


def test_a_dtype_left_to_the_engine_is_the_models(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16"}), encoding="utf-8")
    assert read_arguments(info(dtype="auto", model_path=str(tmp_path)))[0].dtype == "bfloat16"
    assert read_arguments(info(dtype="auto", model_path="someone/model"))[0].dtype is None
    assert read_arguments(info(dtype="half"))[0].dtype == "float16"


def test_a_config_that_is_none_is_a_problem_of_that_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    arguments, problems = read_arguments(info(speculative_draft_model_path=str(tmp_path)))
    assert arguments.draft is not None
    assert arguments.draft.problem is not None
    assert problems == ()


def test_a_path_that_is_relative_to_the_server_is_not_looked_up_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    arguments, _ = read_arguments(info(model_path="."))
    assert arguments.target is not None
    assert arguments.target.config is None


def test_an_older_release_that_knows_no_capture_flag_is_read_too() -> None:
    older = {name: value for name, value in info(version="0.5.20").items() if "aux_hidden_state" not in name}
    arguments, problems = read_arguments(older)
    assert (tell_role(arguments), arguments.returns_hidden_states, problems) == ("eagle3", True, ())
    without = {name: value for name, value in older.items() if name != "enable_return_hidden_states"}
    assert read_arguments(without)[0].returns_hidden_states is None
