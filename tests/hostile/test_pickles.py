"""Pickles with code in them: never run, and named by what they would call."""

from __future__ import annotations

import io
import os
import pickle
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eagle3_contracts.subjects.datasets.pickles import is_allowed, scan_pickles
from support.datasets import kinds, read_evidence


class Call:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that code in a pickle would make; it must never be there."""
    return tmp_path / "canary"


def _evil(canary: Path) -> Call:
    return Call(os.system, f"touch {canary}")


def _record(value: Any) -> dict[str, Any]:
    return {
        "input_ids": torch.arange(4),
        "loss_mask": torch.arange(4) % 2,
        "hidden_states": [torch.rand(4, 8)] * 4,
        "x": value,
    }


def _save_zip(path: Path, canary: Path) -> None:
    torch.save(_record(_evil(canary)), path)


def _save_legacy(path: Path, canary: Path) -> None:
    torch.save(_record(_evil(canary)), path, _use_new_zipfile_serialization=False)


def _save_plain(path: Path, canary: Path) -> None:
    path.write_bytes(pickle.dumps(_evil(canary)))


def _save_protocol_0(path: Path, canary: Path) -> None:
    path.write_bytes(b"\x80\x02" + pickle.dumps(_evil(canary), protocol=0))


def _save_gzip(path: Path, canary: Path) -> None:
    import gzip

    buffer = io.BytesIO()
    torch.save(_record(_evil(canary)), buffer)
    path.write_bytes(gzip.compress(buffer.getvalue()))


WAYS = {
    "zip": (_save_zip, "data_0.pt"),
    "legacy": (_save_legacy, "data_0.pt"),
    "plain": (_save_plain, "data_0.pt"),
    "protocol 0": (_save_protocol_0, "data_0.pt"),
    "gzip": (_save_gzip, "data_0.ckpt.gz"),
}


@pytest.mark.parametrize("way", WAYS)
def test_code_is_not_run_and_named(way: str, canary: Path, tmp_path: Path) -> None:
    save, name = WAYS[way]
    path = tmp_path / "data" / name
    path.parent.mkdir()
    save(path, canary)
    (problem,) = read_evidence(path.parent).problems
    assert not canary.exists()
    assert (problem.kind, problem.where.file) == ("unsafe", name)
    assert f"{os.system.__module__}.system" in problem.reason


def test_the_canary_would_sing(canary: Path, tmp_path: Path) -> None:
    """The same file, loaded as SpecForge 0.1 loads its own, runs the code: the test above can fail."""
    _save_zip(tmp_path / "data_0.pt", canary)
    torch.load(tmp_path / "data_0.pt", weights_only=False)
    assert canary.exists()


def test_code_before_the_end_of_a_cut_off_pickle_is_named(canary: Path, tmp_path: Path) -> None:
    path = tmp_path / "data_0.pt"
    path.write_bytes(pickle.dumps([_evil(canary), "x" * 1000])[:200])
    assert kinds(read_evidence(path)) == ["unsafe"]


@pytest.mark.parametrize(
    "value",
    [np.arange(3), np.float32(1), Call(eval, "1"), Call(getattr, "x", "y"), Path("x"), slice(1), Exception("x")],
)
def test_anything_beyond_tensors_and_plain_values_is_named(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "data_0.pt"
    torch.save(_record(value), path)
    (problem,) = read_evidence(path).problems
    assert problem.kind == "unsafe"
    assert "loading it would call" in problem.reason


def test_a_class_of_the_subjects_folder_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data_0.pt"
    path.write_bytes(b"\x80\x02cplanted\nThing\nq\x00.")
    (problem,) = read_evidence(path).problems
    assert "planted.Thing" in problem.reason
    assert "planted" not in sys.modules


def test_plain_values_of_every_kind_are_read(tmp_path: Path) -> None:
    path = tmp_path / "data_0.pt"
    torch.save(
        _record({"a": [1, 2.5, "x", None, True, b"bytes", (1,), {3}, 1j, bytearray(b"x")], "b": torch.bfloat16}), path
    )
    evidence = read_evidence(path)
    assert (evidence.samples, evidence.problems) == (1, ())


def test_tensors_of_every_kind_that_states_have_are_read(tmp_path: Path) -> None:
    extra = {
        str(dtype): torch.zeros(4, dtype=dtype)
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32, torch.uint64, torch.bool)
    }
    extra["parameter"] = torch.nn.Parameter(torch.zeros(4))
    extra["complex"] = torch.zeros(4, dtype=torch.complex64)
    extra["sparse"] = torch.eye(4).to_sparse()
    path = tmp_path / "data_0.pt"
    torch.save({**_record(None), **extra}, path)
    evidence = read_evidence(path)
    assert (evidence.samples, evidence.problems) == (1, ())


def test_a_tar_archive_is_not_loaded(canary: Path, tmp_path: Path) -> None:
    """torch before 2.6 loads a tar archive unsafely, weights_only or not (CVE-2025-32434)."""
    path = tmp_path / "data_0.pt"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT, encoding="latin-1") as archive:
        data = pickle.dumps(_evil(canary))
        info = tarfile.TarInfo("\x80\x02\x8a\nl")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    assert path.read_bytes().startswith(b"\x80\x02")
    assert kinds(read_evidence(path)) == ["unsupported"]
    assert not canary.exists()


def test_a_scripted_archive_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "data_0.pt"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("x/data.pkl", "x/constants.pkl", "x/code/__torch__.py"):
            archive.writestr(name, b"\x80\x02}.")
    assert kinds(read_evidence(path)) == ["unsupported"]


def test_opcodes_that_make_names_while_loading_are_named() -> None:
    stacked = b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R."
    remembered = b"\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x8c\x01xh\x00h\x01\x93."
    extension = b"\x80\x02\x82\x05."
    instance = b"(S'x'\nios\nsystem\n."
    assert list(scan_pickles(stacked, 1).unsafe) == ["os.system"]
    assert list(scan_pickles(remembered, 1).unsafe) == ["os.system"]
    assert list(scan_pickles(extension, 1).unsafe) == ["the registered extension 5"]
    assert list(scan_pickles(instance, 1).unsafe) == ["os.system"]


@pytest.mark.parametrize(
    "name", ["torch.load", "torch.Storage.x", "torch.hub.load", "builtins.eval", "torch.os.system", "torch.__Storage"]
)
def test_names_that_only_look_like_torchs_are_not_allowed(name: str) -> None:
    assert not is_allowed(name)


@pytest.mark.parametrize("name", ["torch.BFloat16Storage", "torch.bfloat16", "collections.OrderedDict"])
def test_what_tensors_need_is_allowed(name: str) -> None:
    assert is_allowed(name)
