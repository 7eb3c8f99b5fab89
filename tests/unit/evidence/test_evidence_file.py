"""What counts as evidence of a run on a GPU. Every file here is made up, and says so: nothing in it was measured."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.reports.evidence_file import (
    EvidenceFileError,
    VerdictCounts,
    count_verdicts,
    list_complaints,
    read_evidence,
    write_evidence,
)

MADE_UP = Path(__file__).parent / "made_up" / "sound.json"
CONTRACT, DIGEST = "made-up@1.0.0", "0" * 64

Change = Callable[[dict[str, Any]], object]


def complaints(folder: Path, *changes: Change) -> list[str]:
    """Read the made-up file after some changes and give what is said of it."""
    return list_complaints(read_evidence(changed(folder, *changes)), CONTRACT, DIGEST)


def changed(folder: Path, *changes: Change) -> Path:
    values = json.loads(MADE_UP.read_text(encoding="utf-8"))
    for change in changes:
        change(values)
    path = folder / "gpu.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def measured(values: dict[str, Any]) -> None:
    """Claim what is not true, to see that nothing else is said of a sound file."""
    values["origin"] = "measured"


def test_a_made_up_file_is_never_accepted(tmp_path: Path) -> None:
    (only,) = complaints(tmp_path)
    assert only.startswith("it was made up for a test and measured nowhere; run `tox -e gpu`")


def test_of_a_sound_file_nothing_is_said(tmp_path: Path) -> None:
    assert complaints(tmp_path, measured) == []


WRONG: dict[str, tuple[Change, str]] = {
    "dirty": (lambda v: v.update(dirty=True), "files differed from commit 000000000000"),
    "a stand-in": (lambda v: v.update(stand_ins=["sgl_kernel: folder"]), "stand-ins took part: sgl_kernel"),
    "another contract": (lambda v: v.update(contract="made-up@0.9.0"), "it is stale: it speaks of made-up@0.9.0"),
    "another digest": (lambda v: v.update(digest="f" * 64), "made-up@1.0.0 had digest ffffffffffffffff"),
    "a clause that came later": (lambda v: v["clauses"].pop("server.rows"), "it knows nothing of server.rows"),
    "a clause that is gone": (
        lambda v: v["clauses"].update({"server.gone": v["clauses"]["server.rows"]}),
        "no clause of a server is called server.gone",
    ),
    "a violated must": (lambda v: v["clauses"]["server.rows"].update(failed=1), "server.rows failed 1 times"),
    "an error": (lambda v: v["clauses"]["server.rows"].update(errored=2), "server.rows was left open 2 times"),
    "a gap": (lambda v: v["clauses"]["server.rows"].update(left_open=1), "server.rows was left open 1 times"),
    "a clause that skipped alone": (
        lambda v: v["clauses"]["server.rows"].update(passed=0, skipped=7),
        "server.rows was decided on no server",
    ),
    "no capture": (
        lambda v: [v["servers"].pop(name) for name in ("capture", "capture, no graphs")],
        "no server had the role capture",
    ),
    "no triton": (
        lambda v: v["servers"]["eagle3, triton"].update(attention_backend="fa3"),
        "no drafting server ran triton with graphs",
    ),
    "graphs that were never replayed": (
        lambda v: v["servers"]["capture"].update(graph_steps=0),
        "server capture replayed graphs in 0 logged steps",
    ),
    "graphs where there should be none": (
        lambda v: v["servers"]["capture, no graphs"].update(graph_steps=1),
        "server capture, no graphs replayed graphs in 1 logged steps",
    ),
    "graphs everywhere": (
        lambda v: [item["graphs"].update(decode="full") for item in v["servers"].values()],
        "drafting servers ran with CUDA graphs alone",
    ),
    "a cpu": (lambda v: v["servers"]["plain"].update(device="cpu"), "server plain ran on cpu, not on cuda"),
    "float32": (lambda v: v["servers"]["plain"].update(dtype="float32"), "server plain computed in float32"),
    "no rows": (lambda v: v["replays"][0].update(later_rows=0), "eagle3, no graphs: no rows were compared"),
    "rows that part": (lambda v: v["replays"][2].update(later_median=0.5), "rows part by 0.5, bound 0.03"),
    "no replay": (lambda v: v.update(replays=[]), "compared for no server with the role capture, eagle3"),
    "no speed": (lambda v: v.update(speed=[]), "speed with against without speculation was not measured"),
    "another ratio": (lambda v: v["speed"][0].update(ratio=2.0), "the ratio for 1 requests is not that of its seconds"),
    "too long": (lambda v: v.update(seconds=481.0), "the run took 481 s"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_file_lacks_is_told(tmp_path: Path, name: str) -> None:
    change, said = WRONG[name]
    found = complaints(tmp_path, measured, change)
    assert any(said in item for item in found), found


def test_a_violated_should_is_recorded_and_no_complaint(tmp_path: Path) -> None:
    assert complaints(tmp_path, measured, lambda v: v["clauses"]["server.acceptance-shape"].update(failed=1)) == []


BROKEN: dict[str, tuple[Change, str]] = {
    "an unknown key": (lambda v: v.update(note="x"), "note: Extra inputs are not permitted"),
    "an unknown key within": (lambda v: v["machine"].update(uuid="x"), "machine.uuid: Extra inputs"),
    "a missing key": (lambda v: v.pop("commit"), "commit: Field required"),
    "a short commit": (lambda v: v.update(commit="abc"), "commit: String should match"),
    "a date without a zone": (lambda v: v.update(date="2000-01-01T00:00:00"), "date: Input should have timezone"),
    "text for a number": (lambda v: v.update(seconds="60"), "seconds: Input should be a valid number"),
    "a number below zero": (lambda v: v["clauses"]["server.rows"].update(passed=-1), "clauses.server.rows.passed"),
    "an empty name": (lambda v: v["machine"].update(device=" "), "machine.device: String should have at least"),
    "another origin": (lambda v: v.update(origin="guessed"), "origin: Input should be"),
    "another schema": (lambda v: v.update(schema_version=2), "schema_version: Input should be 1"),
    "an unknown phase": (lambda v: v["servers"]["plain"]["graphs"].update(encode="full"), "Input should be 'decode'"),
    "a measure that is no number": (lambda v: v["speed"][0].update(ratio=None), "speed.0.ratio"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_evidence_file_is_refused(tmp_path: Path, name: str) -> None:
    change, said = BROKEN[name]
    with pytest.raises(EvidenceFileError, match=re.escape(said)):
        read_evidence(changed(tmp_path, change))


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "\xff", '{"seconds": NaN}'])
def test_any_other_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gpu.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(EvidenceFileError, match=r"gpu\.json is no evidence file"):
        read_evidence(path)
    with pytest.raises(EvidenceFileError, match="cannot be read"):
        read_evidence(tmp_path / "absent.json")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    evidence = read_evidence(MADE_UP)
    write_evidence(tmp_path / "folder" / "gpu.json", evidence)
    assert read_evidence(tmp_path / "folder" / "gpu.json") == evidence


def test_verdicts_are_counted_and_gaps_among_them() -> None:
    def find(verdict: Verdict, hint: str = "") -> Finding:
        return Finding("server.rows", Level.MUST, verdict, "server", "s", hint=hint)

    found = [find(Verdict.PASSED), find(Verdict.PASSED), find(Verdict.SKIPPED), find(Verdict.SKIPPED, "give it")]
    counts = count_verdicts([*found, find(Verdict.ERRORED), find(Verdict.FAILED)])
    assert counts == {"server.rows": VerdictCounts(passed=2, failed=1, errored=1, skipped=2, left_open=2)}
