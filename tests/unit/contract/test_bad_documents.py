"""Bad documents: every defect at once, each with its place, what was observed and what was expected."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.contract import ContractError, load_contract
from eagle3_contracts.contract.explaining import explain_defects
from support.documents import EXAMPLES, GONE, change_values, read_values
from support.snapshots import compare_snapshot, list_unused

SNAPSHOTS = Path(__file__).with_name("snapshots")
NORM = {"median": [9.0, 1.0], "origin": "x"}
MLA = {"kind": "mla", "heads": 64}

DOCUMENTS: dict[str, dict[str, Any]] = {
    "wrong types": {
        "target.hidden_size": "4096",
        "target.num_hidden_layers": 32.0,
        "target.norm.plus_one": 1,
        "drafter.rope.theta": "1e6",
        "storage.planes": "low",
        "planes.low.boundary": True,
        "drafter.fc": "none",
        "sources": [1],
        "summary": 7,
    },
    "unknown keys": {
        "target.layers": 32,
        "planes.low.stat": "raw",
        "drafter.fc.dropout": 0.1,
        "alignment.tokens": [1],
        "licence": "MIT",
    },
    "misspelt tables": {
        "drafter": GONE,
        "draftr": read_values()["drafter"],
        "storage": GONE,
        "storages": read_values()["storage"],
    },
    "nothing but a schema": dict.fromkeys(
        ("name", "version", "summary", "target", "planes", "storage", "drafter"), GONE
    ),
    "boundaries": {"planes.low.boundary": 33, "planes.mid.boundary": -1, "planes.high.boundary": 2.5},
    "no state on boundary n": {"planes.final.state": GONE, "planes.high.state": "post_norm"},
    "one state under two names": {"planes.final_normed.state": "pre_norm", "planes.high.boundary": 16},
    "names": {
        "planes.extra": {"name": "low", "boundary": 5},
        "planes.upper": {"name": "High-2", "boundary": 6},
        "drafter.input": ["low", "middle", "low"],
        "drafter.last_hidden": "last",
        "storage.formats": {"spec-forge": ["low"], "specforge": ["lo"]},
    },
    "a plane called none": {"planes.extra": {"name": "none", "boundary": 5}},
    "empty lists": {"planes": [], "storage.planes": [], "drafter.input": [], "alignment.token": []},
    "words": {
        "target.dtype": "bf16",
        "drafter.d2t": "diff",
        "drafter.lm_head": "tied",
        "drafter.fc.input_norm": "before",
        "drafter.attention.kind": "mha",
        "tolerance.bfloat17": {"relative_l2_median": 0.1, "logprob_max": 1.0, "origin": "x"},
    },
    "numbers": {
        "target.norm.eps": 0.0,
        "target.vocab_size": 0,
        "tolerance.bfloat16.relative_l2_median": 1.0,
        "tolerance.bfloat16.logprob_max": float("inf"),
        "drafter.rope.partial_factor": 1.5,
        "serving.min_draft_tokens": 1,
    },
    "texts": {
        "name": "Example Llama",
        "version": "1.0",
        "summary": "",
        "target.model": "a\x1b[31mb",
        "target.weights_sha256": "ABC",
        "target.config_path": "text config",
        "serving.engines": {"SGLang": ">=0.5", "sglang": "0.5.20 or later"},
    },
    "dates": {
        "version": dt.date(2026, 1, 1),
        "target.revision": dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC),
        "sources": ["a", dt.time(12, 0)],
    },
    "vocabulary": {"drafter.draft_vocab_size": 200000, "drafter.hidden_size": 2048},
    "a draft vocabulary without a mapping": {"drafter.d2t": "none", "drafter.lm_head": "target"},
    "fc and attention": {
        "drafter.fc": {"present": False, "bias": True},
        "drafter.attention.kv_heads": 5,
        "planes.low.norm": NORM,
    },
    "no fc where the widths differ": {"drafter.fc": {"present": False}},
    "rope": {
        "drafter.rope": {
            "theta": 1e4,
            "type": "yarn",
            "low_freq_factor": 1.0,
            "mrope_interleaved": True,
        }
    },
    "rope with a wrong word beside": {
        "drafter.rope": {"theta": 1e4, "type": "linear", "layout": "neox", "beta_fast": 32.0},
    },
    "mla without its ranks": {"drafter.attention": MLA},
    "attention without a kind": {"drafter.attention": {"heads": 64}},
    "tables that are no tables": {"target": 1, "planes": {"low": 2}, "serving": [], "tolerance": "none"},
    "planes that are no tables": {"planes": ["low", {"boundary": 3}, {"name": "x", "boundary": "3"}]},
}


@pytest.mark.parametrize("title", DOCUMENTS)
def test_a_bad_document_is_explained_whole(title: str) -> None:
    defects = explain_defects(change_values(read_values(), DOCUMENTS[title]))
    assert defects
    assert all(defect.observed and defect.expected for defect in defects)
    compare_snapshot(SNAPSHOTS / f"{title}.txt", "".join(f"{defect}\n" for defect in defects))


def test_every_snapshot_is_compared() -> None:
    assert list_unused(SNAPSHOTS, (f"{title}.txt" for title in DOCUMENTS)) == []


def test_a_good_document_has_no_defects() -> None:
    for path in EXAMPLES.glob("*.toml"):
        assert explain_defects(read_values(path)) == ()


def test_defects_of_different_kinds_are_told_together(tmp_path: Path) -> None:
    text = (EXAMPLES / "llama.toml").read_text(encoding="utf-8")
    for old, new in (
        ("boundary = 16", "boundary = 99"),
        ('d2t = "offset"', 'd2t = "offset"\ndt2 = 1'),
        ('dtype = "bfloat16"\nnorm', "dtype = 16\nnorm"),
        ('last_hidden = "final"', 'last_hidden = "finale"'),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ContractError) as caught:
        load_contract(path)
    places = {defect.place for defect in caught.value.defects}
    assert places == {"planes.mid.boundary", "drafter.dt2", "target.dtype", "drafter.last_hidden"}
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{path}: not a valid contract, 4 defects"
    assert len(lines) == 6


def test_no_message_holds_what_would_drive_a_terminal() -> None:
    values = change_values(read_values(), {"target.model": "a\x1b[31mb", "summary": "x\x07"})
    assert "\x1b" not in "".join(map(str, explain_defects(values)))


def test_a_long_value_is_cut() -> None:
    defects = explain_defects(change_values(read_values(), {"storage.dtype": "x" * 10_000}))
    assert max(len(str(defect)) for defect in defects) < 250
