"""What ``diagnose`` prints for each verdict, in words and as JSON, and that what it says to set is read by someone."""

from __future__ import annotations

import json
import re
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from eagle3_contracts.commands.diagnosis import EXIT_CODES, describe_diagnosis, read_share
from eagle3_contracts.consumers import CONSUMERS
from eagle3_contracts.consumers.stray_flags import KNOWN
from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis import Diagnosis, Measured
from eagle3_contracts.diagnosis.fixes import _FLAG_FIXES
from eagle3_contracts.diagnosis.verdict import Difference, DraftVerdict, Neighbour
from eagle3_contracts.diagnosis.wiring import WORDS
from support.snapshots import compare_snapshot, list_unused

SNAPSHOTS = Path(__file__).parent / "snapshots"
_SURE = "+0.412 nats per row over 600 held-out rows, better in 20 of 20 samples (chance 9.5e-07 if both were equal)"
CASES = {
    verdict: Diagnosis(
        verdict=verdict,
        contract="story@1.0.0",
        reasons=("the first reason", "the second reason"),
        declared="cat(low, mid, high) = R[3], R[31], R[59]",
        found="cat(embed, low, mid) = R[0], R[3], R[31]",
        reference="head(final_norm(R[61]))",
        measured=Measured(0.341, 0.3, -4.25),
        measured_as_found=Measured(0.769, 0.7, -1.5),
        differences=(Difference("planes into fc", "cat(low, mid, high)", "cat(embed, low, mid)", _SURE),),
        neighbours=(Neighbour("rope base", "10000", 0.001, _SURE),),
        fixes=("sglang >=0.5.20: no ids", "vllm >=0.22,<0.34: ids [0, 3, 31]"),
        notes=("a note",),
        samples=40,
        positions=600,
        evaluations=93,
    )
    for verdict in (DraftVerdict.WIRED_WRONG, DraftVerdict.WRONG_TARGETS)
} | {
    verdict: Diagnosis(
        verdict=verdict,
        contract="story@2.0.0",
        reasons=("the only reason",),
        declared="cat(embed, low, mid) = R[0], R[3], R[31]",
        found="cat(embed, low, mid) = R[0], R[3], R[31]",
        reference="the text",
        measured=None if verdict is DraftVerdict.CANNOT_TELL else Measured(None, 0.7, -1.5),
        samples=4,
    )
    for verdict in (DraftVerdict.UNDER_TRAINED, DraftVerdict.SOUND, DraftVerdict.CANNOT_TELL)
}


def name_of(verdict: DraftVerdict) -> str:
    return str(verdict).replace(" ", "-")


@pytest.mark.parametrize("verdict", DraftVerdict, ids=name_of)
def test_each_verdict_is_told_as_recorded(verdict: DraftVerdict) -> None:
    lines = [*describe_diagnosis(CASES[verdict]), "", f"exit code {EXIT_CODES[verdict]}", ""]
    compare_snapshot(SNAPSHOTS / f"{name_of(verdict)}.txt", "\n".join(lines))
    told = json.dumps(CASES[verdict].encode(), indent=2) + "\n"
    compare_snapshot(SNAPSHOTS / f"{name_of(verdict)}.json", told)


@pytest.mark.parametrize(
    ("text", "told"), [("74.7", "write 0.747"), ("-1", "0 to 1"), ("nan", "0 to 1"), ("101", "0 to 1"), ("x", "0 to 1")]
)
def test_an_accuracy_that_is_no_share_is_refused(text: str, told: str) -> None:
    with pytest.raises(ArgumentTypeError, match=told):
        read_share(text)
    assert read_share("0.747") == 0.747


def test_every_snapshot_is_compared_with() -> None:
    names = [f"{name_of(verdict)}.{kind}" for verdict in DraftVerdict for kind in ("txt", "json")]
    assert not list_unused(SNAPSHOTS, names)


TOOLS_OWN = {
    "rope_theta": "config.json of every Llama",
    "rope_parameters": "transformers 5",
    "use_input_layernorm_in_first_layer": "ModelOpt 0.47.0, eagle_config of its export",
    "q_proj": "a tensor",
    "k_proj": "a tensor",
    "hidden_norm": "a tensor",
    "input_layernorm": "a tensor",
    "lm_head": "a tensor",
}
"""Names in the fixes that no engine's table of flags holds, and whose they are."""


def test_what_a_fix_says_to_set_is_a_key_that_some_engine_reads(contract_keys: set[str]) -> None:
    read = {path[-1] for path in KNOWN}
    read |= {path[-1] for consumer in CONSUMERS for places in consumer.flags.values() for path in places}
    named = {name for line in _FLAG_FIXES.values() for name in re.findall(r"[a-z0-9]+(?:_[a-z0-9]+)+", line)}
    assert named - read - set(TOOLS_OWN) - contract_keys == {"per_plane"}
    assert set(TOOLS_OWN) <= named, "an exception that is no longer needed"
    assert set(_FLAG_FIXES) | {"taps", "prediction"} == set(WORDS)


@pytest.fixture
def contract_keys() -> set[str]:
    return set(Contract.model_fields) | {"alignment"}
