"""Folders that mislead: links, loops, pipes, names of no encoding, folders named like files; nothing is written."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from support.datasets import digest_tree, kinds, read_evidence
from support.formats import ALL_WRITERS, make_samples, write_dataset


def _good(folder: Path, count: int = 2) -> list[Path]:
    return write_dataset("speculators-v1", folder, make_samples(count))


def test_links_that_leave_the_folder_are_unsafe_and_not_followed(tmp_path: Path) -> None:
    outside = _good(tmp_path / "outside")
    _good(tmp_path / "data")
    (tmp_path / "data" / "data_7.pt").symlink_to(outside[0])
    (tmp_path / "data" / "more").symlink_to(tmp_path / "outside")
    (tmp_path / "data" / "up").symlink_to("../..")
    evidence = read_evidence(tmp_path / "data")
    assert kinds(evidence) == ["unsafe", "unsafe", "unsafe"]
    assert [problem.where.file for problem in evidence.problems] == ["data_7.pt", "more", "up"]
    assert evidence.files_found == 2


def test_links_within_the_folder_are_read_once(tmp_path: Path) -> None:
    paths = _good(tmp_path)
    (tmp_path / "data_5.pt").symlink_to(paths[0].name)
    (tmp_path / "again").symlink_to(".")
    evidence = read_evidence(tmp_path)
    assert (evidence.files_found, evidence.problems) == (2, ())
    assert "2 links to what the folder holds anyway" in evidence.notes[0]


def test_loops_of_links_end(tmp_path: Path) -> None:
    _good(tmp_path)
    (tmp_path / "a.pt").symlink_to("b.pt")
    (tmp_path / "b.pt").symlink_to("a.pt")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "gone.pt").symlink_to("nowhere.pt")
    evidence = read_evidence(tmp_path)
    assert (kinds(evidence), evidence.samples) == (["missing"] * 4, 2)


def test_a_sibling_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    outside = _good(tmp_path / "data-other")
    _good(tmp_path / "data")
    (tmp_path / "data" / "data_7.pt").symlink_to(outside[0])
    assert kinds(read_evidence(tmp_path / "data")) == ["unsafe"]


def test_pipes_and_sockets_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a pipe would wait for a writer that never comes."""
    _good(tmp_path)
    os.mkfifo(tmp_path / "data_7.pt")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("data_8.pt")
        evidence = read_evidence(tmp_path)
    assert kinds(evidence) == ["unknown-format", "unknown-format"]
    assert (evidence.files_found, evidence.samples) == (2, 2)


def test_a_folder_named_like_a_file_is_told_and_walked(tmp_path: Path) -> None:
    _good(tmp_path / "data_0.pt")
    evidence = read_evidence(tmp_path)
    assert kinds(evidence) == ["unknown-format"]
    assert evidence.problems[0].reason == "a folder is named like a .pt file"
    assert evidence.samples == 2


@pytest.mark.parametrize(
    "name", [b"data_\xff\xfe.pt", b"new\nline.pt", b"\x1b[31mred.pt", b"-rf.pt", b"a'\";$(x).pt", "ü☃.pt".encode()]
)
@pytest.mark.parametrize("format_id", ["speculators-v1", "vllm-connector"])
def test_names_of_any_bytes_are_read_and_printed_safely(name: bytes, format_id: str, tmp_path: Path) -> None:
    (path,) = write_dataset(format_id, tmp_path, make_samples(1))
    renamed = os.path.join(os.fsencode(tmp_path), name.replace(b".pt", os.fsencode(path.suffix)))  # noqa: PTH118
    os.rename(path, renamed)  # noqa: PTH104
    evidence = read_evidence(tmp_path)
    assert (evidence.samples, evidence.problems) == (1, ())
    (tally,) = evidence.token_digests.values()
    label = tally.first[0].file or ""
    assert label.isprintable()
    label.encode("utf-8")
    Path(os.fsdecode(renamed)).write_bytes(b"PK\x03\x04")
    (problem,) = read_evidence(tmp_path).problems
    assert problem.where.file == label
    assert problem.reason.isprintable()


def test_deep_folders_end(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(150):
        folder = folder / "d"
    _good(folder)
    assert read_evidence(tmp_path).samples == 2


WRONG_NAMES = [
    ("speculators-v1", ".safetensors"),
    ("vllm-connector", ".pt"),
    ("specforge, gzip", ".ckpt"),
    ("specforge", ".ckpt.gz"),
]


@pytest.mark.parametrize(("name", "suffix"), WRONG_NAMES)
def test_a_file_named_as_another_container_is_told(name: str, suffix: str, tmp_path: Path) -> None:
    _, write = ALL_WRITERS[name]
    (path,) = write(tmp_path, make_samples(1))
    renamed = path.with_name(f"data_0{suffix}")
    path.rename(renamed)
    (problem,) = read_evidence(renamed).problems
    assert problem.kind == "unknown-format"
    assert f"named {suffix}" in problem.reason


@pytest.mark.parametrize(
    "data", [b"\0" * 4096, b"<html>404</html>", bytes(range(256)) * 20, b"PK", b"\x80", b"\x1f\x8b"]
)
@pytest.mark.parametrize("suffix", [".pt", ".ckpt", ".ckpt.gz", ".safetensors", ".bin"])
def test_files_of_other_bytes_are_told(data: bytes, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data_0{suffix}"
    path.write_bytes(data)
    (problem,) = read_evidence(path).problems
    assert problem.kind in {"corrupt", "truncated", "unknown-format"}
    assert (problem.where.file, bool(problem.remedy)) == (path.name, True)


def test_a_folder_that_may_not_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _good(tmp_path)
    (tmp_path / "closed").mkdir()
    scan = os.scandir

    def refuse(path: Path) -> object:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    (problem,) = read_evidence(tmp_path).problems
    assert (problem.kind, problem.where.file) == ("corrupt", "closed")


def test_a_file_that_is_gone_by_the_time_it_is_read_is_told(tmp_path: Path) -> None:
    from eagle3_contracts.subjects import Options
    from eagle3_contracts.subjects.datasets.reading import open_source, read_dataset

    paths = _good(tmp_path)
    source = open_source("under test", str(tmp_path), None, Options(scan="full"))
    paths[1].unlink()
    evidence = read_dataset(source).evidence
    assert (evidence.samples, kinds(evidence)) == (1, ["corrupt"])


@pytest.mark.parametrize("name", ALL_WRITERS)
def test_nothing_is_written_to_the_subject(name: str, tmp_path: Path) -> None:
    _, write = ALL_WRITERS[name]
    paths = write(tmp_path, make_samples(2))
    (tmp_path / "half.pt").write_bytes(b"PK\x03\x04")
    (tmp_path / "half.safetensors").write_bytes(b"\x01")
    for path in [*tmp_path.rglob("*"), tmp_path]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = digest_tree(tmp_path)
    for scan in ("headers", "sample", "full"):
        read_evidence(tmp_path, scan=scan)
    assert digest_tree(tmp_path) == before
    assert all(path.exists() for path in paths)
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o755)
