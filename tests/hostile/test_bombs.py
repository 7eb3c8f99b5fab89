"""Small files that claim to be huge: refused before memory or time is spent on them."""

from __future__ import annotations

import gzip
import io
import pickle
import resource
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from eagle3_contracts.subjects.datasets import torch_files
from support.datasets import kinds, read_evidence

MEGABYTE = 1 << 20


@contextmanager
def frugal(seconds: float = 20, megabytes: int = 400) -> Iterator[None]:
    """Fail if the block takes longer, or makes the process grow by more."""
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert time.monotonic() - started < seconds
    assert grown < megabytes


def _states() -> dict[str, object]:
    return {"input_ids": torch.arange(4), "loss_mask": torch.arange(4) % 2, "hidden_states": [torch.rand(4, 8)] * 4}


def test_a_gzip_bomb_is_unpacked_to_the_cap_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_files, "UNPACKED_CAP", 16 * MEGABYTE)
    path = tmp_path / "data_0.ckpt.gz"
    with gzip.open(path, "wb", compresslevel=1) as sink:
        for _ in range(300):
            sink.write(bytes(MEGABYTE))
    with frugal():
        (problem,) = read_evidence(path).problems
    assert (problem.kind, problem.reason) == ("unsafe", f"unpacks to more than {16 * MEGABYTE} bytes")


def test_nothing_unpacked_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    from support.formats import ALL_WRITERS, make_samples

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    _, write = ALL_WRITERS["specforge, gzip"]
    paths = write(tmp_path / "data", make_samples(2))
    paths[1].write_bytes(paths[1].read_bytes()[:-20])
    evidence = read_evidence(tmp_path / "data")
    assert (evidence.samples, kinds(evidence)) == (1, ["truncated"])
    assert list(scratch.iterdir()) == []


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "data_0.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/data.pkl", b"\x80\x02}.")
        archive.writestr("x/data/0", bytes(200 * MEGABYTE))
    with frugal():
        (problem,) = read_evidence(path).problems
    assert problem.kind == "unsafe"
    assert "the archive is compressed" in problem.reason


def test_a_pickle_of_megabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "data_0.pt"
    torch.save({**_states(), "x": list(range(2_000_000))}, path)
    with frugal():
        assert kinds(read_evidence(path)) == ["unsupported"]


def test_a_tensor_that_repeats_one_element_is_refused(tmp_path: Path) -> None:
    """Strides of zero: a few bytes that claim a terabyte."""
    path = tmp_path / "data_0.pt"
    torch.save({**_states(), "hidden_states": [torch.zeros(1, 1).expand(1 << 20, 1 << 20)]}, path)
    with frugal():
        (problem,) = read_evidence(path).problems
    assert problem.kind == "corrupt"
    assert "claims" in problem.reason


def test_a_small_expanded_mask_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data_0.pt"
    torch.save({**_states(), "loss_mask": torch.ones(1, dtype=torch.int64).expand(4)}, path)
    assert read_evidence(path).problems == ()


def test_a_storage_that_claims_more_than_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data_0.pt"
    for legacy in (False, True):
        buffer = io.BytesIO()
        torch.save({"x": torch.zeros(77, dtype=torch.uint8)}, buffer, _use_new_zipfile_serialization=not legacy)
        small, huge = b"X\x03\x00\x00\x00cpuq", pickle.dumps(1 << 60, 2)[2:-1]
        whole = buffer.getvalue()
        at = whole.index(b"KM", whole.index(small))
        if legacy:
            path.write_bytes(whole[:at] + huge + whole[at + 2 :])
        else:
            _repack(path, whole, b"KM", huge)
        with frugal():
            (problem,) = read_evidence(path).problems
        assert problem.kind == "corrupt"
        assert f"claims {1 << 60} elements" in problem.reason


def _repack(path: Path, archive: bytes, old: bytes, new: bytes) -> None:
    """Write an archive again with a changed pickle."""
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(path, "w") as sink:
        for info in source.infolist():
            data = source.read(info)
            if info.filename.endswith("data.pkl"):
                at = data.index(old, data.index(b"cpuq"))
                data = data[:at] + new + data[at + len(old) :]
            sink.writestr(info.filename, data)


def test_a_pickle_that_doubles_itself_costs_nothing(tmp_path: Path) -> None:
    """Lists of lists of lists, each twice the one before: 2 to the 40 elements if anyone followed them."""
    nested: list[object] = []
    for _ in range(40):
        nested = [nested, nested]
    path = tmp_path / "data_0.pt"
    torch.save({**_states(), "x": nested}, path)
    with frugal():
        evidence = read_evidence(path)
    assert (evidence.samples, evidence.problems) == (1, ())


def test_a_text_that_claims_to_be_endless_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "data_0.pt"
    path.write_bytes(b"\x80\x04\x8d" + (1 << 60).to_bytes(8, "little") + b"x.")
    with frugal():
        assert kinds(read_evidence(path)) == ["truncated"]


def test_a_packed_mask_that_claims_to_be_endless_is_corrupt(tmp_path: Path) -> None:
    from support.formats import ALL_WRITERS, make_samples

    _, write = ALL_WRITERS["torchspec, replay"]
    for packed in ("0,99999999999999", "-1,4", "a", "1,,2", "9" * 5000):
        (path,) = write(tmp_path, make_samples(1))
        torch.save({**torch.load(path), "packed_loss_mask": packed}, path)
        with frugal():
            (problem,) = read_evidence(tmp_path).problems
        assert (problem.kind, problem.where.tensor) == ("corrupt", "packed_loss_mask")
