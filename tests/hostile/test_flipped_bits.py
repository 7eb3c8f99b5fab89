"""One flipped bit anywhere: no exception, no crash; in a torch archive its checksum tells it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from support.datasets import read_evidence
from support.formats import ALL_WRITERS, make_samples

KNOWN = {"truncated", "corrupt", "unsafe", "unknown-format", "unsupported", "missing", "empty", "ambiguous"}


def _flip(whole: bytes, at: int, bit: int) -> bytes:
    return whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :]


@pytest.mark.parametrize("name", ["speculators-v1", "specforge, gzip", "tensorrt-llm", "vllm-connector"])
def test_a_flipped_bit_raises_nothing(name: str, tmp_path: Path) -> None:
    _, write = ALL_WRITERS[name]
    (path,) = write(tmp_path, make_samples(1, planes=2, hidden=8))
    whole = path.read_bytes()
    step = max(1, len(whole) // 150)
    for at in range(0, len(whole), step):
        path.write_bytes(_flip(whole, at, at % 8))
        evidence = read_evidence(path)
        assert {problem.kind for problem in evidence.problems} <= KNOWN, (at, evidence.problems)
        assert evidence.problems or evidence.samples == 1


def test_flipped_bits_of_every_byte_of_a_header_raise_nothing(tmp_path: Path) -> None:
    _, write = ALL_WRITERS["vllm-connector"]
    (path,) = write(tmp_path, make_samples(1, planes=2, hidden=8))
    whole = path.read_bytes()
    for at in range(8 + int.from_bytes(whole[:8], "little")):
        for bit in range(at % 4, 8, 4):
            path.write_bytes(_flip(whole, at, bit))
            evidence = read_evidence(path)
            assert {problem.kind for problem in evidence.problems} <= KNOWN, (at, bit)


def test_a_flipped_bit_in_a_tensor_of_a_torch_archive_is_corrupt(tmp_path: Path) -> None:
    """torch maps the archive and does not look at its checksums: the trainer would train on it."""
    _, write = ALL_WRITERS["speculators-v1"]
    (path,) = write(tmp_path, make_samples(1))
    stored = torch.load(path)["hidden_states"][2].view(torch.int16).numpy().tobytes()
    whole = path.read_bytes()
    path.write_bytes(_flip(whole, whole.index(stored) + 100, 3))
    torch.load(path, mmap=True, weights_only=True)
    (problem,) = read_evidence(path).problems
    assert problem.kind == "corrupt"
    assert "the checksum of data/" in problem.reason
    assert read_evidence(path, scan="headers").problems == ()


def test_an_archive_written_without_checksums_is_read(tmp_path: Path) -> None:
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        _, write = ALL_WRITERS["speculators-v1"]
        (path,) = write(tmp_path, make_samples(1))
    finally:
        torch.serialization.set_crc32_options(before)
    assert read_evidence(path).problems == ()
