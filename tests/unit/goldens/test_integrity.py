"""A recording is read whole or not at all: a file that is missing, altered or left over is an error with its remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eagle3_contracts.embedded import NAME, VERSION
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.goldens import MANIFEST, STATES, Golden, open_golden, restore_command


def test_the_recording_fits_in_git(golden: Golden) -> None:
    size = sum(path.stat().st_size for path in golden.folder.parent.parent.rglob("*") if path.is_file())
    assert size < 2_000_000


def test_the_manifest_says_where_everything_comes_from(golden: Golden) -> None:
    manifest = golden.manifest
    assert manifest["contract"] == f"{NAME}@{VERSION}"
    assert {"python", "numpy", "torch", "safetensors", "eagle3-contracts"} <= manifest["versions"].keys()
    assert manifest["training"]["recipe"]["seed"] == 1
    assert "recording.training" in manifest["training"]["command"]
    assert all(entry.keys() == {"sha256", "bytes"} for entry in manifest["files"].values())


def _delete(folder: Path) -> str:
    (folder / STATES).unlink()
    return f"{STATES} is missing"


def _alter(folder: Path) -> str:
    content = bytearray((folder / "target" / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "target" / "model.safetensors").write_bytes(content)
    return "target/model.safetensors was altered"


def _leave_over(folder: Path) -> str:
    (folder / "datasets" / "old.pt").write_bytes(b"")
    return "datasets/old.pt is not in manifest.json"


@pytest.mark.parametrize("damage", [_delete, _alter, _leave_over])
def test_damage_is_named_with_the_command_that_restores(
    root: Path, folder: Path, damage: Callable[[Path], str]
) -> None:
    reason = damage(folder)
    with pytest.raises(SubjectError) as caught:
        open_golden(NAME, VERSION, root)
    assert reason in caught.value.reason
    assert f"git restore --source=HEAD golden/{NAME}/{VERSION}" in caught.value.remedy


def test_all_damage_is_named_at_once(root: Path, folder: Path) -> None:
    reasons = [_delete(folder), _alter(folder), _leave_over(folder)]
    with pytest.raises(SubjectError) as caught:
        open_golden(NAME, VERSION, root)
    assert all(reason in caught.value.reason for reason in reasons)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", '{"schema": 2, "files": {}, "sequences": []}'])
def test_a_manifest_that_is_none_is_an_error(root: Path, folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    with pytest.raises(SubjectError, match="git restore"):
        open_golden(NAME, VERSION, root)


def test_a_version_without_recording_is_an_error(root: Path) -> None:
    with pytest.raises(SubjectError, match="there is no recording here"):
        open_golden(NAME, "9.9.9", root)


def test_an_installed_recording_is_restored_by_installing_again() -> None:
    installed = Path("/usr/lib/python3/site-packages/eagle3_contracts/golden") / NAME / VERSION
    assert restore_command(installed) == "pip install --force-reinstall --no-deps eagle3-contracts"


def test_the_manifest_lists_sizes_that_are_true(golden: Golden) -> None:
    manifest = json.loads((golden.folder / MANIFEST).read_text())
    for name, entry in manifest["files"].items():
        assert (golden.folder / name).stat().st_size == entry["bytes"]
