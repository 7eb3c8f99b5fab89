"""Finding and reading a document: by name, by name and version, by path; and what is no document."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eagle3_contracts.contract import ContractError, list_catalog, load_contract, resolve_contract
from eagle3_contracts.contract.loading import SIZE_CAP, catalog_root, parse_contract
from support.documents import EXAMPLES

TEXT = (EXAMPLES / "llama.toml").read_text(encoding="utf-8")


def refuse(reference: str | Path) -> ContractError:
    with pytest.raises(ContractError) as caught:
        load_contract(reference)
    return caught.value


def test_a_name_means_its_latest_version() -> None:
    assert load_contract("kimi-k2.5-eagle3").reference == "kimi-k2.5-eagle3@3.0.0"


def test_a_version_means_itself() -> None:
    assert load_contract("kimi-k2.5-eagle3@1.0.0").reference == "kimi-k2.5-eagle3@1.0.0"


def test_a_path_means_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    expected = load_contract(EXAMPLES / "llama.toml")
    assert load_contract("mine.toml") == load_contract("./mine.toml") == load_contract(tmp_path / "mine.toml")
    assert load_contract("mine.toml") == expected


def test_versions_are_ordered_as_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    for name in ("10.0.0.toml", "9.0.0.toml", "9.10.0.toml", "notes.toml", "1.0.toml", "9.0.0.toml.new"):
        (folder / name).touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "schema-1.json").touch()
    assert list_catalog(tmp_path) == {"some": ("9.0.0", "9.10.0", "10.0.0")}


def test_a_catalog_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert list_catalog(tmp_path / "nowhere") == {}


@pytest.mark.parametrize("reference", ["", "  "])
def test_an_empty_reference_is_refused(reference: str) -> None:
    assert "the reference is empty" in str(refuse(reference))


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    error = refuse("kimi-k2-eagle3")
    assert error.reason == "no contract named 'kimi-k2-eagle3' in the catalog"
    assert "did you mean kimi-k2.5-eagle3?" in error.remedy
    assert all(name in error.remedy for name in list_catalog())


@pytest.mark.parametrize("version", ["4.0.0", "", "2.0.0@1.0.0", "../../2.0.0".replace("/", "")])
def test_an_unknown_version_is_answered_with_the_known_ones(version: str) -> None:
    error = refuse(f"kimi-k2.5-eagle3@{version}")
    assert error.reason == f"kimi-k2.5-eagle3 has no version {version!r}; there are 1.0.0, 2.0.0, 3.0.0"
    assert "write kimi-k2.5-eagle3@3.0.0" in error.remedy


def test_a_name_never_leaves_the_catalog() -> None:
    assert resolve_contract("../pyproject.toml") == Path("../pyproject.toml"), "a path, not a name"
    assert resolve_contract("kimi-k2.5-eagle3").is_relative_to(catalog_root())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "nothing.toml: cannot be read: No such file" in str(refuse(tmp_path / "nothing.toml"))


def test_a_folder_is_no_document(tmp_path: Path) -> None:
    error = refuse(tmp_path)
    assert error.reason == "a folder, not a contract"
    assert "eagle3-contracts list" in error.remedy


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    assert refuse(tmp_path / "pipe.toml").reason == "not a regular file, not a contract"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_is_not_read() -> None:
    assert refuse("/dev/zero").reason == "not a regular file, not a contract"


def test_a_path_that_cannot_be_is_refused() -> None:
    assert "no path" in str(refuse("a\0b.toml"))


def test_a_binary_file_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_bytes(b"PK\x03\x04\xff\xfe")
    assert refuse(tmp_path / "model.toml").reason == "not text in UTF-8 (byte 4), so no TOML"


def test_a_huge_file_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "huge.toml").write_text("a = 1\n" * SIZE_CAP, encoding="utf-8")
    assert refuse(tmp_path / "huge.toml").reason == f"larger than {SIZE_CAP} bytes, so no contract"


def test_the_size_is_that_of_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "just.toml").write_text(TEXT + "#" * (SIZE_CAP - len(TEXT.encode())), encoding="utf-8")
    assert load_contract(tmp_path / "just.toml").name == "example-llama"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("schema: 1\n", "not TOML: "),
        ('{"schema": 1}', "not TOML: "),
        ("schema = 1\nschema = 1\n", "not TOML: Cannot overwrite a value (at line 2"),
        ("[target]\n[target]\n", "not TOML: "),
        ("a = " + "[" * 20_000, "not a contract: nested too deeply"),
        ("a" + ".a" * 2_000 + " = 1", "not a contract: nested too deeply"),
        ("schema = " + "1" * 5_000, "not TOML: Exceeds the limit"),
    ],
    ids=["YAML", "JSON", "a key twice", "a table twice", "depth", "depth of keys", "digits"],
)
def test_what_is_not_toml_is_refused_with_the_line(text: str, reason: str) -> None:
    with pytest.raises(ContractError) as caught:
        parse_contract(text)
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize("schema", ["2", '"1"', "true", "0", "1.5", "[1]"])
def test_another_schema_is_not_judged_by_this_one(schema: str) -> None:
    with pytest.raises(ContractError) as caught:
        parse_contract(f"schema = {schema}\nnonsense = true\n")
    assert caught.value.reason == "written in another format"
    assert [defect.place for defect in caught.value.defects] == ["schema"]


def test_a_file_of_another_kind_does_not_flood_the_terminal() -> None:
    with pytest.raises(ContractError) as caught:
        parse_contract("schema = 1\n" + "".join(f"key{number} = 1\n" for number in range(1_000)))
    assert len(caught.value.defects) > 1_000
    lines = str(caught.value).splitlines()
    assert len(lines) == 103
    assert lines[-2] == f"  - and {len(caught.value.defects) - 100} more"


def test_a_mark_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "windows.toml").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    assert load_contract(tmp_path / "windows.toml").digest == load_contract(EXAMPLES / "llama.toml").digest


def test_an_error_is_json() -> None:
    with pytest.raises(ContractError) as caught:
        parse_contract(TEXT.replace('d2t = "offset"', 'd2t = "difference"'), source="mine.toml")
    assert caught.value.as_dict() == {
        "source": "mine.toml",
        "reason": "not a valid contract, 1 defect",
        "defects": [
            {
                "place": "drafter.d2t",
                "observed": "'difference'",
                "expected": "'offset', 'absolute' or 'none'",
                "hint": "",
            }
        ],
        "remedy": "mend each line above; `eagle3-contracts show NAME` prints a valid one",
    }
