"""A safetensors header is untrusted: whatever it says, the answer is a sentence, and values come out exact."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.tensors import INDEX, TensorFiles, find_files, read_header, weights_digest


def write(path: Path, header: Any, data: bytes = b"") -> Path:
    """Write a safetensors file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def entry(dtype: str = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_values_come_out_exact(tmp_path: Path, dtype: str) -> None:
    values = torch.randn(5, 3, generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype))
    save_file({"x": values}, tmp_path / "x.safetensors")
    files = TensorFiles([tmp_path / "x.safetensors"])
    np.testing.assert_array_equal(files.read("x"), values.float().numpy())
    np.testing.assert_array_equal(files.read("x", np.array([4, 0, 0])), values.float().numpy()[[4, 0, 0]])
    np.testing.assert_array_equal(files.read("x", slice(1, 3)), values.float().numpy()[1:3])
    assert files.parameters == 15


def test_an_empty_tensor_reads_as_one(tmp_path: Path) -> None:
    save_file({"x": torch.zeros(0, 3)}, tmp_path / "x.safetensors")
    assert TensorFiles([tmp_path / "x.safetensors"]).read("x").shape == (0, 3)


def test_a_quantised_tensor_is_not_read_as_numbers(tmp_path: Path) -> None:
    save_file({"x": torch.zeros(4, dtype=torch.int8)}, tmp_path / "x.safetensors")
    files = TensorFiles([tmp_path / "x.safetensors"])
    assert not files.tensors["x"].floating
    with pytest.raises(SubjectError, match="x is I8, which cannot be read without its scales"):
        files.read("x")


BROKEN = {
    "empty": (b"", "cut off"),
    "eight bytes": (struct.pack("<Q", 4), "cut off"),
    "a length beyond the file": (struct.pack("<Q", 1 << 60) + b"{}", "cut off"),
    "no JSON": (struct.pack("<Q", 3) + b"{x}", "header is broken"),
    "not UTF-8": (struct.pack("<Q", 2) + b"\xff\xfe", "header is broken"),
    "a list": (struct.pack("<Q", 2) + b"[]", "is no table"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_says_what_is_broken(tmp_path: Path, name: str) -> None:
    content, reason = BROKEN[name]
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(SubjectError, match=reason) as caught:
        read_header(tmp_path / "x.safetensors")
    assert caught.value.source == str(tmp_path / "x.safetensors")


ENTRIES = {
    "no dtype": ({"shape": [2], "data_offsets": [0, 8]}, "entry of 'x' is broken"),
    "a negative size": (entry(shape=[-2]), "entry of 'x' is broken"),
    "a size that is no integer": (entry(shape=[2.0]), "entry of 'x' is broken"),
    "offsets that run backwards": (entry(offsets=[8, 0]), "entry of 'x' is broken"),
    "one offset": (entry(offsets=[0]), "entry of 'x' is broken"),
    "text for an entry": ("F32", "entry of 'x' is broken"),
    "fewer bytes than the shape": (entry(shape=[3]), "'x' has 8 bytes, not what its shape says"),
    "an end beyond the file": (entry(offsets=[100, 108]), "is cut off: 'x' ends at"),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_broken_entry_says_what_is_broken(tmp_path: Path, name: str) -> None:
    header, reason = ENTRIES[name]
    with pytest.raises(SubjectError, match=reason):
        read_header(write(tmp_path / "x.safetensors", {"x": header}, bytes(8)))


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    one = json.dumps(entry())
    text = f'{{"x": {one}, "x": {one}}}'.encode()
    with pytest.raises(SubjectError, match="a key stands twice"):
        read_header(write(tmp_path / "x.safetensors", text, bytes(8)))


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match="header is broken"):
        read_header(write(tmp_path / "x.safetensors", b'{"x":' * 100_000))


@given(st.binary(max_size=200))
def test_no_bytes_at_all_raise_anything_else(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "x.safetensors"
    path.write_bytes(content)
    try:
        assert isinstance(read_header(path), dict)
    except SubjectError as error:
        assert error.remedy  # noqa: PT017 (both outcomes are right, any other exception is not)


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_file({"x": torch.zeros(2)}, tmp_path / f"{name}.safetensors")
    with pytest.raises(SubjectError, match=r"x stands in a\.safetensors too"):
        find_files(tmp_path)


@pytest.mark.parametrize("shard", ["../outside.safetensors", "/etc/passwd", "sub/model.safetensors", 7, ["a"]])
def test_an_index_never_leads_out_of_its_folder(tmp_path: Path, shard: Any) -> None:
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {"w": "model.safetensors", "x": shard}}))
    with pytest.raises(SubjectError, match="names a shard outside its folder"):
        find_files(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": []}'])
def test_an_index_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / INDEX).write_text(text)
    with pytest.raises(SubjectError, match="is no index of shards"):
        find_files(tmp_path)


def test_the_digest_of_one_file_is_its_sha256_and_of_several_that_of_their_lines(tmp_path: Path) -> None:
    (tmp_path / "b.safetensors").write_bytes(b"two")
    (tmp_path / "a.safetensors").write_bytes(b"one")
    one, two = (hashlib.sha256(content).hexdigest() for content in (b"one", b"two"))
    assert weights_digest([tmp_path / "a.safetensors"]) == one
    lines = f"{one}  a.safetensors\n{two}  b.safetensors\n"
    expected = hashlib.sha256(lines.encode()).hexdigest()
    assert weights_digest([tmp_path / "b.safetensors", tmp_path / "a.safetensors"]) == expected
