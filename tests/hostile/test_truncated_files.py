"""Files cut off anywhere: a problem that names the file, never an exception, never a sample of half the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.datasets import read_evidence
from support.formats import ALL_WRITERS, make_samples

CONTAINERS = {
    "torch zip": "speculators-v1",
    "torch gzip": "specforge, gzip",
    "safetensors": "vllm-connector",
}
DAMAGED = {"truncated", "corrupt"}


def _cuts(size: int) -> list[int]:
    """Give every length near the beginning and the end, and a spread between."""
    near = {*range(min(size, 70)), *range(max(0, size - 130), size)}
    return sorted(near | set(range(0, size, max(1, size // 100))))


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_file_cut_off_anywhere_is_damaged(container: str, tmp_path: Path) -> None:
    name = CONTAINERS[container]
    _, write = ALL_WRITERS[name]
    (path,) = write(tmp_path, make_samples(1, hidden=8))
    whole = path.read_bytes()
    for cut in _cuts(len(whole)):
        path.write_bytes(whole[:cut])
        evidence = read_evidence(path)
        assert (evidence.samples, len(evidence.problems)) == (0, 1), cut
        problem = evidence.problems[0]
        assert problem.kind in DAMAGED, (cut, problem)
        assert problem.where.file == path.name


def test_a_legacy_file_cut_off_anywhere_is_damaged(tmp_path: Path) -> None:
    import torch

    path = tmp_path / "data_0.pt"
    record = {"input_ids": torch.arange(9), "loss_mask": torch.arange(9) % 2, "hidden_states": [torch.rand(9, 8)] * 4}
    torch.save(record, path, _use_new_zipfile_serialization=False)
    whole = path.read_bytes()
    for cut in _cuts(len(whole)):
        path.write_bytes(whole[:cut])
        evidence = read_evidence(path)
        assert evidence.samples == 0, cut
        assert {problem.kind for problem in evidence.problems} <= DAMAGED | {"unknown-format"}, cut
        assert evidence.problems, cut


def test_an_arrow_stream_cut_off_anywhere_raises_nothing(tmp_path: Path) -> None:
    """A stream may end between two messages without a sign; its missing rows are then rows without a mask."""
    _, write = ALL_WRITERS["speculators-arrow"]
    write(tmp_path, make_samples(3, hidden=8))
    path = tmp_path / "data-00000-of-00001.arrow"
    whole = path.read_bytes()
    for cut in _cuts(len(whole)):
        path.write_bytes(whole[:cut])
        evidence = read_evidence(tmp_path)
        masks = [signature.mask_surplus for signature in evidence.signatures]
        assert evidence.samples == 3
        assert evidence.problems or set(masks) == {0}, cut


def test_bytes_behind_the_end_are_damage_where_the_container_can_tell(tmp_path: Path) -> None:
    _, write = ALL_WRITERS["vllm-connector"]
    (path,) = write(tmp_path, make_samples(1))
    path.write_bytes(path.read_bytes() + b"\0" * 7)
    (problem,) = read_evidence(path).problems
    assert "7 bytes after the last tensor belong to none" in problem.reason
