"""Releasing: what is refused, so that a released file never changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eagle3_contracts.contract.releasing import (
    ReleaseError,
    find_catalog_defects,
    main,
    read_releases,
    release_version,
    update_schema,
)
from eagle3_contracts.contract.writing import write_contract
from support.documents import make_contract


def publish(root: Path, version: str, **changes: object) -> str:
    """Put a version into a catalog of its own, not yet released."""
    path = root / "example-llama" / f"{version}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(write_contract(make_contract({"version": version, **changes})), encoding="utf-8")
    return f"example-llama/{version}"


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    release_version(publish(tmp_path, "1.0.0"), tmp_path)
    update_schema(tmp_path)
    return tmp_path


def test_a_released_catalog_has_no_defects(catalog: Path) -> None:
    assert find_catalog_defects(catalog) == ()
    assert set(read_releases(catalog)["example-llama/1.0.0"]) == {"sha256", "digest"}


def test_a_changed_file_is_found(catalog: Path) -> None:
    path = catalog / "example-llama" / "1.0.0.toml"
    path.write_text(path.read_text(encoding="utf-8") + "# a comment\n", encoding="utf-8")
    assert find_catalog_defects(catalog) == (
        "example-llama/1.0.0: the file changed after its release; restore it and write a new version",
    )


def test_line_ends_of_a_checkout_are_no_change(catalog: Path) -> None:
    path = catalog / "example-llama" / "1.0.0.toml"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert find_catalog_defects(catalog) == ()


def test_a_file_that_says_something_else_to_the_program_is_found(catalog: Path) -> None:
    path = catalog / "digests.json"
    releases = json.loads(path.read_text(encoding="utf-8"))
    releases["example-llama/1.0.0"]["digest"] = "0" * 64
    path.write_text(json.dumps(releases), encoding="utf-8")
    assert ["restore the model" in defect for defect in find_catalog_defects(catalog)] == [True]


def test_a_missing_file_is_found(catalog: Path) -> None:
    (catalog / "example-llama" / "1.0.0.toml").unlink()
    assert find_catalog_defects(catalog) == ("example-llama/1.0.0: released, and its file is gone; restore it",)


def test_an_unreleased_file_is_found_with_the_command(catalog: Path) -> None:
    publish(catalog, "1.0.1", summary="Said better.")
    assert find_catalog_defects(catalog) == (
        "example-llama/1.0.1: not released; run `python -m eagle3_contracts.contract.releasing example-llama/1.0.1`",
    )


def test_a_stale_schema_is_found(catalog: Path) -> None:
    (catalog / "schema-1.json").write_text("{}\n", encoding="utf-8")
    assert ["schema-1.json: not in step" in defect for defect in find_catalog_defects(catalog)] == [True]


def test_a_document_in_another_place_than_it_says_is_found(catalog: Path) -> None:
    path = catalog / "example-llama" / "1.1.0.toml"
    path.write_text(write_contract(make_contract()), encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"calls itself example-llama/1\.0\.0"):
        release_version("example-llama/1.1.0", catalog)


def test_a_release_is_not_repeated(catalog: Path) -> None:
    with pytest.raises(ReleaseError, match="a released file never changes"):
        release_version("example-llama/1.0.0", catalog)


def test_a_version_that_does_not_exist_is_not_released(catalog: Path) -> None:
    with pytest.raises(ReleaseError, match="no file"):
        release_version("example-llama/2.0.0", catalog)


def test_a_breaking_change_needs_a_major_version(catalog: Path) -> None:
    entry = publish(catalog, "1.1.0", **{"planes.low.boundary": 3})
    with pytest.raises(ReleaseError) as caught:
        release_version(entry, catalog)
    assert "its changes call for 2.0.0 at least" in str(caught.value)
    assert "planes.low" in str(caught.value)
    assert entry not in read_releases(catalog)


@pytest.mark.parametrize(
    ("version", "changes"),
    [
        ("1.0.1", {"summary": "Said better."}),
        ("1.1.0", {"alignment.position": [0, 1]}),
        ("2.0.0", {"drafter.layers": 2}),
    ],
)
def test_a_version_high_enough_is_released(catalog: Path, version: str, changes: dict[str, object]) -> None:
    release_version(publish(catalog, version, **changes), catalog)
    assert list(read_releases(catalog)) == ["example-llama/1.0.0", f"example-llama/{version}"]
    assert find_catalog_defects(catalog) == ()


def test_nothing_is_released_in_ci(
    catalog: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    before = {path: path.read_bytes() for path in catalog.rglob("*") if path.is_file()}
    assert main(["example-llama/1.0.0"]) == 1
    assert "nothing is released in CI" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in catalog.rglob("*") if path.is_file()} == before


def test_the_command_checks_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    assert (main([]), capsys.readouterr().err) == (0, "")


def test_a_schema_that_breaks_released_documents_is_not_written(catalog: Path) -> None:
    path = catalog / "schema-1.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    schema["$defs"]["Drafter"]["properties"]["layers"]["default"] = 2
    schema["$defs"]["Drafter"]["properties"]["gone"] = {"default": 1}
    schema["$defs"]["Drafter"]["required"].remove("max_position")
    text = json.dumps(schema)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReleaseError) as caught:
        update_schema(catalog)
    message = str(caught.value)
    assert "Drafter.layers: the default was 2 and is 1" in message
    assert "Drafter.gone: the key is gone" in message
    assert "Drafter.max_position: the key is required now" in message
    assert path.read_text(encoding="utf-8") == text
