"""The stand-in says what a real SGLang 0.5.23 said: the same keys in the same order, and the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.evidence.server import ServerRole
from eagle3_contracts.faults.injecting.servers import SERVER_INJECTIONS, Engine, StandIn, deform
from eagle3_contracts.faults.injecting.servers.information import server_info, with_internal_states
from eagle3_contracts.subjects.servers.arguments import read_arguments, tell_role

RECORDED: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("recorded_answers.json").read_text(encoding="utf-8")
)["answers"]
ROLES: tuple[ServerRole, ...] = ("eagle3", "capture", "plain")
NUMBERS = 1e-4
COUNTED = {"spec_accept_rate", "spec_accept_length", "spec_num_correct_drafts", "spec_num_proposed_drafts"} | {
    "spec_verify_ct",
    "spec_correct_drafts_histogram",
}
CHANGING = {"id", "e2e_latency", "response_sent_to_client_ts", "hidden_states"}


def answered(role: ServerRole) -> dict[str, Any]:
    request = json.dumps(RECORDED[role]["request"]).encode()
    status, body = StandIn(role).respond("POST", "/generate", request)
    assert status == 200
    answer: dict[str, Any] = json.loads(body)
    return answer


def flatten(value: Any) -> list[Any]:
    return [item for part in value for item in flatten(part)] if isinstance(value, list) else [value]


def assert_same(own: Any, real: Any, name: str) -> None:
    ours, theirs = flatten(own), flatten(real)
    assert [type(item) for item in ours] == [type(item) for item in theirs], name
    for one, other in zip(ours, theirs, strict=True):
        assert one == (pytest.approx(other, abs=NUMBERS) if isinstance(other, float) else other), name


@pytest.mark.parametrize("role", ROLES)
def test_its_answers_are_the_real_ones_key_by_key_and_number_by_number(role: ServerRole) -> None:
    own, real = answered(role), RECORDED[role]["answer"]
    assert list(own) == list(real)
    assert own["output_ids"] == real["output_ids"]
    assert list(own["meta_info"]) == list(real["meta_info"])
    for name, value in real["meta_info"].items():
        if name not in CHANGING | COUNTED:
            assert_same(own["meta_info"][name], value, name)
        assert isinstance(own["meta_info"][name], type(value)) or name == "hidden_states"


@pytest.mark.parametrize("role", ROLES)
def test_its_rows_have_the_real_shapes_and_the_real_numbers(role: ServerRole) -> None:
    own = answered(role)["meta_info"]["hidden_states"]
    real = RECORDED[role]["answer"]["meta_info"]["hidden_states"]
    assert [list(np.shape(entry)) for entry in own] == real["TRIMMED, shapes of its entries"]
    assert own[0][0][:3] == pytest.approx(real["first values of first row"], abs=NUMBERS)


@pytest.mark.parametrize("role", ROLES)
def test_its_arguments_tell_its_role(role: ServerRole) -> None:
    arguments, problems = read_arguments(with_internal_states(server_info(StandIn(role).engine, role)))
    assert tell_role(arguments) == role
    assert problems == ()
    assert arguments.version == "0.5.23"


def test_a_prompt_that_is_empty_and_a_route_that_is_unknown_are_answered_as_by_the_real_one() -> None:
    stand_in = StandIn()
    assert stand_in.respond("POST", "/generate", b'{"input_ids":[]}') == (
        400,
        b'{"error":{"message":"input_ids cannot be empty."}}',
    )
    assert stand_in.respond("GET", "/nothing", b"")[0] == 404


def test_every_fault_is_listed_once_and_changes_the_stand_in() -> None:
    assert len(set(SERVER_INJECTIONS)) == len(SERVER_INJECTIONS)
    sound = StandIn()
    for fault_id in SERVER_INJECTIONS:
        faulty = deform(fault_id)
        parts = ("role", "inform", "edit", "hijack")
        changed = [name for name in parts if getattr(faulty, name) != getattr(sound, name)]
        engine = ("steps", "seen", "taps", "logits", "draft")
        changed += [name for name in engine if getattr(faulty.engine, name) != getattr(sound.engine, name)]
        assert changed, fault_id


def test_engines_that_are_alike_share_what_they_computed_and_nobody_can_write_it() -> None:
    prompt = tuple(range(20, 28))
    done = Engine().decode(prompt, 4)
    assert Engine().decode(prompt, 4) is done
    assert Engine(steps=1).decode(prompt, 4) is not done
    for shared in (done.boundaries, done.final, done.logits):
        with pytest.raises(ValueError, match="read-only"):
            shared[...] = 0
