"""A recording is untrusted: whatever lies in its folder becomes evidence, and no clause raises or passes on it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, NAME, VERSION
from eagle3_contracts.evidence import GoldenEvidence, RecordedSequence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.goldens import DRAFTS, MANIFEST, STATES, find_packaged, gather
from eagle3_contracts.subjects.goldens.agreeing import PROBED_TOKENS, choose_sequences
from eagle3_contracts.subjects.goldens.manifest import MANIFEST_CAP, digest_sequence


@pytest.fixture(scope="session")
def contract() -> Contract:
    return load_contract(CONTRACT)


def read(contract: Contract, folder: Path, **options: Any) -> GoldenEvidence:
    return gather(contract, Subject("golden", str(folder), "recording"), Options(**options))


def judge(contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    return [item for clause in clauses_of("golden") for item in judge_clause(clause, contract, evidence)]


def write(folder: Path, table: Any) -> None:
    (folder / MANIFEST).write_text(json.dumps(table), encoding="utf-8")


def table_of(folder: Path) -> dict[str, Any]:
    read_table: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return read_table


MANIFESTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda table: [table],
    "no files": lambda table: {key: value for key, value in table.items() if key != "files"},
    "another schema": lambda table: table | {"schema": 2},
    "files as a list": lambda table: table | {"files": list(table["files"])},
    "a size as text": lambda table: table | {"files": {STATES: {"sha256": "0", "bytes": "1"}}},
    "ids as text": lambda table: table | {"sequences": [table["sequences"][0] | {"token_ids": ["1"]}]},
    "ids as truth values": lambda table: table | {"sequences": [table["sequences"][0] | {"token_ids": [True]}]},
    "an id beyond 64 bits": lambda table: table | {"sequences": [table["sequences"][0] | {"token_ids": [1 << 70]}]},
    "a sequence as a list": lambda table: table | {"sequences": [[1, 2, 3]]},
    "the contract as a number": lambda table: table | {"contract": 1},
}


@pytest.mark.parametrize("change", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_is_none_fails_and_nothing_passes(
    change: Callable[[dict[str, Any]], Any], folder: Path, contract: Contract
) -> None:
    write(folder, change(table_of(folder)))
    findings = judge(contract, read(contract, folder))
    assert {item.clause for item in findings if item.verdict is Verdict.FAILED} == {"golden.readable"}
    assert {item.verdict for item in findings} == {Verdict.FAILED, Verdict.ERRORED}


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\ufeff{}"])
def test_text_that_is_no_json_fails(text: str, folder: Path, contract: Contract) -> None:
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    assert [item.kind for item in read(contract, folder).problems] == ["corrupt"]


def test_a_manifest_beyond_the_cap_is_not_read(folder: Path, contract: Contract) -> None:
    with (folder / MANIFEST).open("r+b") as stream:
        stream.truncate(MANIFEST_CAP + 1)
    assert "larger than" in read(contract, folder).problems[0].reason


@pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "target/../../secret", "\\\\host\\share"])
def test_a_name_that_leads_outside_is_told_and_never_opened(name: str, folder: Path, contract: Contract) -> None:
    (folder.parent / "secret").write_text("secret", encoding="utf-8")
    table = table_of(folder)
    table["files"][name] = {"sha256": "0" * 64, "bytes": 6}
    write(folder, table)
    evidence = read(contract, folder)
    assert [item.kind for item in evidence.problems] == ["unsafe"]
    assert [item.found for item in evidence.files if item.name == name] == [None]
    failed = [item for item in judge(contract, evidence) if item.verdict is Verdict.FAILED]
    assert [item.clause for item in failed] == ["golden.integrity"]


def test_links_out_of_the_folder_are_not_followed(folder: Path, contract: Contract, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (folder / "linked").symlink_to(outside, target_is_directory=True)
    os.mkfifo(folder / "pipe")
    assert not [item.name for item in read(contract, folder).files if item.name.startswith(("linked", "pipe"))]


@pytest.mark.parametrize("name", [STATES, DRAFTS])
@pytest.mark.parametrize("content", [b"", b"\xff" * 64, b"\x10\0\0\0\0\0\0\0{}"])
def test_a_file_that_is_none_fails_and_hides_what_it_holds(
    name: str, content: bytes, folder: Path, contract: Contract
) -> None:
    (folder / name).write_bytes(content)
    findings = judge(contract, read(contract, folder))
    assert {item.clause for item in findings if item.verdict is Verdict.FAILED} == {
        "golden.readable",
        "golden.integrity",
    }
    errored = {item.clause for item in findings if item.verdict is Verdict.ERRORED}
    assert errored >= {"golden.shapes", "golden.finite", "golden.drafts"}
    assert ("golden.states" in errored) is (name == STATES)


def test_lost_states_are_no_reason_to_pass(folder: Path, contract: Contract) -> None:
    (folder / STATES).unlink()
    findings = judge(contract, read(contract, folder))
    open_ones = {item.clause for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}}
    assert open_ones >= {f"golden.{name}" for name in ("integrity", "shapes", "dtype", "finite", "states", "logits")}


def test_headers_alone_are_read_without_running_anything(folder: Path, contract: Contract) -> None:
    evidence = read(contract, folder, scan="headers")
    assert evidence.compared == ()
    assert all(item.nonfinite is None for item in evidence.sequences)
    assert all(item.found and not item.found[0] for item in evidence.files)


def test_sequences_are_run_as_long_as_they_are_few_one_of_every_dtype_first() -> None:
    long = [
        RecordedSequence(number, tuple(range(400)), 400, "text", "float32" if number == 4 else "bfloat16")
        for number in range(5)
    ]
    assert [item.number for item in choose_sequences(long, all_of_them=False)] == [0, 4]
    assert sum(len(item.token_ids) for item in choose_sequences(long, all_of_them=False)) <= PROBED_TOKENS
    assert [item.number for item in choose_sequences(long, all_of_them=True)] == [0, 1, 2, 3, 4]
    huge = [RecordedSequence(0, tuple(range(5000)), 5000, "text", "bfloat16")]
    assert choose_sequences(huge, all_of_them=False) == huge


def test_the_packaged_recording_gives_what_a_server_is_held_against(contract: Contract) -> None:
    golden = find_packaged(contract)
    assert golden is not None
    assert golden.folder.parts[-2:] == (NAME, VERSION)
    assert len(golden) >= 8
    states, kept, drafts = golden.states(0), golden.logits(0), golden.drafts(0)
    assert golden.token_ids(0).tolist() == states.token_ids.tolist()
    assert kept.ids.shape[0] == len(states.token_ids) == len(drafts.drafted) + 1
    assert (kept.ids[:, 0] == states.logits.argmax(axis=-1)).mean() > 0.95


def test_a_contract_without_a_packaged_recording_has_none(contract: Contract, tmp_path: Path) -> None:
    assert find_packaged(contract, tmp_path) is None


def test_a_packaged_recording_of_another_document_is_an_error(contract: Contract, root: Path, folder: Path) -> None:
    table = table_of(folder)
    write(folder, table | {"contract_digest": "0" * 64})
    with pytest.raises(SubjectError, match="was recorded for"):
        find_packaged(contract, root)
    shutil.rmtree(folder / "drafter")
    with pytest.raises(SubjectError, match="is missing"):
        find_packaged(contract, root)


def test_the_digest_of_a_sequence_follows_its_ids_and_their_order() -> None:
    assert digest_sequence([1, 2, 3]) == digest_sequence((1, 2, 3))
    assert len({digest_sequence(ids) for ids in ([1, 2, 3], [1, 3, 2], [1, 2], [])}) == 4
