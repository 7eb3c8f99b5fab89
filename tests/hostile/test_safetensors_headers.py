"""Safetensors headers that lie: about their length, about offsets, dtypes and shapes, with names like paths."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.subjects.datasets import safetensors_files
from support.datasets import read_evidence

GOOD = {
    "hidden_states": {"dtype": "BF16", "shape": [4, 2, 8], "data_offsets": [0, 128]},
    "token_ids": {"dtype": "I64", "shape": [4], "data_offsets": [128, 160]},
}


def _write(folder: Path, header: Any, data: bytes = b"\x01" * 160, *, length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = folder / "r.safetensors"
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def _changed(name: str, **changes: Any) -> dict[str, Any]:
    return {**GOOD, name: {**GOOD[name], **changes}}


def test_the_good_header_is_read(tmp_path: Path) -> None:
    evidence = read_evidence(_write(tmp_path, GOOD))
    assert (evidence.samples, evidence.problems) == (1, ())


LIES: dict[str, tuple[Any, str, str]] = {
    "another dtype's size": (_changed("token_ids", dtype="I32"), "corrupt", "takes 16 bytes, the offsets span 32"),
    "a dtype of no states": (_changed("hidden_states", dtype="F4"), "unsupported", "is none that is read here"),
    "no dtype": (_changed("hidden_states", dtype=7), "unsupported", "is none that is read here"),
    "a negative size": (_changed("hidden_states", shape=[-4, 2, 8]), "corrupt", "lists of whole numbers"),
    "a size that is true": (_changed("hidden_states", shape=[True, 8, 8]), "corrupt", "lists of whole numbers"),
    "a size with a fraction": (_changed("hidden_states", shape=[4.0, 2, 8]), "corrupt", "lists of whole numbers"),
    "a size beyond all": (_changed("hidden_states", shape=[1 << 80, 2, 8]), "corrupt", "lists of whole numbers"),
    "sizes that multiply beyond all": (_changed("hidden_states", shape=[1 << 61] * 8), "corrupt", "takes"),
    "offsets backwards": (_changed("token_ids", data_offsets=[160, 128]), "corrupt", "the offsets span -32"),
    "three offsets": (_changed("token_ids", data_offsets=[0, 1, 2]), "corrupt", "two of them"),
    "an overlap": (_changed("token_ids", data_offsets=[96, 128]), "corrupt", "two tensors share data"),
    "a gap": (_changed("token_ids", data_offsets=[130, 162]), "corrupt", "2 bytes between two tensors"),
    "data beyond the end": (_changed("token_ids", shape=[5], data_offsets=[128, 168]), "truncated", "describes"),
    "no shape": ({**GOOD, "token_ids": {"dtype": "I64"}}, "corrupt", "must have dtype, shape and data_offsets"),
    "one key more": (_changed("token_ids", path="/etc"), "corrupt", "and nothing else"),
    "a record that is a list": ({**GOOD, "token_ids": []}, "corrupt", "must have dtype"),
    "a header that is a list": ([], "corrupt", "no JSON object"),
    "metadata that are numbers": ({**GOOD, "__metadata__": {"a": 1}}, "corrupt", "no table of strings"),
    "a name twice": (b'{"a": {}, "a": {}}', "corrupt", "the key 'a' stands twice"),
    "a key twice": (b'{"a": {"dtype": "F32", "dtype": "F16"}}', "corrupt", "the key 'dtype' stands twice"),
    "no number": (b'{"a": NaN}', "corrupt", "the value NaN is no JSON"),
    "endless digits": (b'{"a": ' + b"9" * 10_000 + b"}", "corrupt", "cannot be used"),
    "endless nesting": (b'{"a": ' + b"[" * 200_000, "corrupt", "nested too deeply"),
    "another encoding": (json.dumps(GOOD).encode("utf-16"), "corrupt", "header"),
    "bytes of no encoding": (b'{"\xff\xfe": 1}', "corrupt", "no UTF-8"),
    "no JSON": (b"{hidden_states}", "corrupt", "no JSON"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies_is_told(lie: str, tmp_path: Path) -> None:
    header, kind, reason = LIES[lie]
    (problem,) = read_evidence(_write(tmp_path, header)).problems
    assert (problem.kind, problem.where.file) == (kind, "r.safetensors")
    assert reason in problem.reason


@pytest.mark.parametrize("length", [(1 << 64) - 1, 1 << 40, safetensors_files.HEADER_CAP + 1])
def test_a_header_that_claims_to_be_huge_is_not_read(length: int, tmp_path: Path) -> None:
    (problem,) = read_evidence(_write(tmp_path, GOOD, length=length)).problems
    assert problem.kind == "corrupt"
    assert f"claims a header of {length} bytes" in problem.reason


def test_a_header_longer_than_the_file_is_cut_off(tmp_path: Path) -> None:
    (problem,) = read_evidence(_write(tmp_path, GOOD, length=5000)).problems
    assert (problem.kind, "ends inside its header" in problem.reason) == ("truncated", True)


@pytest.mark.parametrize("name", ["../../escape", "/etc/passwd", "a\0b", "\x1b[31mred", "x" * 100_000, "", "\u202e"])
def test_a_tensors_name_is_a_label_and_no_path(name: str, tmp_path: Path) -> None:
    header = {**GOOD, name: {"dtype": "F32", "shape": [1], "data_offsets": [160, 164]}}
    path = _write(tmp_path, header, b"\x01" * 164)
    evidence = read_evidence(path)
    assert (evidence.samples, evidence.problems) == (1, ())
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.safetensors"]
    del header["token_ids"], header["hidden_states"]
    header[name]["data_offsets"] = [0, 4]
    (problem,) = read_evidence(_write(tmp_path, header, b"\x01" * 4)).problems
    assert problem.reason.isprintable()
    assert len(problem.reason) < 3000


def test_tensors_of_no_elements_are_read(tmp_path: Path) -> None:
    header = {
        "hidden_states": {"dtype": "BF16", "shape": [0, 4, 8], "data_offsets": [0, 0]},
        "token_ids": {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]},
    }
    assert [problem.kind for problem in read_evidence(_write(tmp_path, header, b"")).problems] == ["empty"]


def test_a_million_axes_cost_nothing(tmp_path: Path) -> None:
    header = {**GOOD, "x": {"dtype": "U8", "shape": [1] * 1_000_000, "data_offsets": [160, 161]}}
    evidence = read_evidence(_write(tmp_path, header, b"\x01" * 161))
    assert [problem.kind for problem in evidence.problems] == ["corrupt"]
