"""Recording is one explicit command: refused in CI, never half done, and it leaves the weights as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from eagle3_contracts.contract.stamp import STAMP_FILE
from eagle3_contracts.embedded import NAME, VERSION
from eagle3_contracts.recording import RecordingError, record, recorder
from eagle3_contracts.recording.files import replacing
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.goldens import MANIFEST, STATES, golden_root, open_golden


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden_root(), tmp_path / "golden"))


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def read_floats(path: Path) -> list[np.ndarray]:
    """Give the states in a dataset file, whatever its format, by key."""
    values = load_file(path) if path.suffix == ".safetensors" else torch.load(path, weights_only=True)
    listed = (values[key] if isinstance(values[key], list) else [values[key]] for key in sorted(values))
    return [item.float().numpy() for items in listed for item in items]


@pytest.mark.parametrize("value", ["true", "1", "TRUE", " yes "])
def test_recording_is_refused_in_ci(root: Path, value: str) -> None:
    before = contents(root)
    with pytest.raises(RecordingError, match="refused where CI is set"):
        record(NAME, root, {"CI": value})
    assert contents(root) == before


def test_the_real_environment_counts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(RecordingError):
        record(NAME, root)


@pytest.mark.parametrize("value", ["", "false", "0"])
def test_recording_again_gives_the_same_states_from_the_same_weights(root: Path, value: str) -> None:
    kept = open_golden(NAME, VERSION)
    folder = root / NAME / VERSION
    weights = (folder / "target" / "model.safetensors").read_bytes()
    (folder / STATES).unlink()
    (folder / MANIFEST).unlink()
    shutil.rmtree(folder / "datasets")
    made = record(NAME, root, {"CI": value})
    again = open_golden(NAME, VERSION, root)
    assert (folder / "target" / "model.safetensors").read_bytes() == weights
    assert set(made.files) == set(kept.manifest["files"])
    assert STATES in made.changed
    assert not any(path.startswith("target/") for path in made.changed)
    assert made.agreement["relative_l2_max"] < 1e-5
    for number in range(len(kept)):
        found, expected = again.states(number), kept.states(number)
        for part in ("boundaries", "final", "logits"):
            np.testing.assert_allclose(getattr(found, part), getattr(expected, part), rtol=0.01, atol=1e-3)
    for name in (name for name in made.files if name.startswith("datasets/")):
        if name.endswith(STAMP_FILE):
            assert (folder / name).read_bytes() == (kept.folder / name).read_bytes()
            continue
        for values, stored in zip(read_floats(folder / name), read_floats(kept.folder / name), strict=True):
            np.testing.assert_allclose(values, stored, rtol=0.01, atol=1e-3)
    assert not [path for path in root.rglob("*") if path.name.startswith(".")]


def test_routes_that_disagree_record_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(root)
    monkeypatch.setattr(recorder, "AGREEMENT", 0.0)
    with pytest.raises(RecordingError, match="the numpy and torch routes differ"):
        record(NAME, root, {})
    assert contents(root) == before


def test_other_weights_are_never_recorded(root: Path) -> None:
    path = root / NAME / VERSION / "target" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    before = contents(root)
    with pytest.raises(SubjectError, match="the weights have sha256"):
        record(NAME, root, {})
    assert contents(root) == before


def test_a_contract_without_weights_says_where_to_put_them(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="put the target's weights and config there"):
        record(NAME, tmp_path, {})


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "states.safetensors"
    path.write_bytes(b"old")
    with pytest.raises(FileNotFoundError), replacing(path) as scratch:
        scratch.with_name("half").rename(scratch)  # what is to be written is not there
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    reader = tmp_path / "reader"
    reader.hardlink_to(path)
    with replacing(path) as scratch:
        assert scratch.name == path.name
        scratch.write_bytes(b"new")
    assert path.read_bytes() == b"new"
    assert reader.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == [reader, path]
