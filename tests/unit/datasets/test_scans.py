"""Which files are read: headers, sample or full; folders and single files; what cannot be used at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eagle3_contracts.evidence import PlaneRecord
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.datasets.sampling import pick_probes, sample_evenly
from eagle3_contracts.subjects.datasets.stored import Entry, FoundFile
from support.datasets import kinds, read_evidence
from support.formats import ALL_WRITERS, make_samples, write_dataset


@pytest.mark.parametrize("name", ALL_WRITERS)
def test_headers_tell_shapes_and_read_no_value(name: str, tmp_path: Path) -> None:
    format_id, write = ALL_WRITERS[name]
    write(tmp_path, make_samples(3))
    evidence, whole = read_evidence(tmp_path, scan="headers"), read_evidence(tmp_path)
    assert (evidence.format, evidence.problems, evidence.samples) == (format_id, (), 3)
    assert evidence.signatures == whole.signatures
    assert evidence.lengths == whole.lengths
    assert evidence.planes == (PlaneRecord(),) * 4
    assert (evidence.token_maximum, evidence.token_digests, evidence.state_digests) == (None, {}, {})


def test_a_sample_reads_so_many_files_of_all_parts(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(20))
    evidence = read_evidence(tmp_path, scan="sample", sampled_files=5)
    assert (evidence.files_found, evidence.files_read, evidence.samples) == (20, 5, 5)
    read = [
        int(where.file.split("_")[1][:-3]) for t in evidence.token_digests.values() for where in t.first if where.file
    ]
    assert [number // 4 for number in read] == [0, 1, 2, 3, 4]


def test_the_seed_alone_decides_which_files(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(20))
    first, again = (read_evidence(tmp_path, scan="sample", sampled_files=5, seed=3) for _ in range(2))
    other = read_evidence(tmp_path, scan="sample", sampled_files=5, seed=4)
    assert first == again
    assert first.token_digests.keys() != other.token_digests.keys()


def test_files_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(12))
    order = [tally.first[0].file for tally in read_evidence(tmp_path).token_digests.values()]
    assert order == [f"data_{index}.pt" for index in range(12)]


def test_one_file_is_a_subject_too(tmp_path: Path) -> None:
    paths = write_dataset("speculators-v1", tmp_path, make_samples(3))
    evidence = read_evidence(paths[1])
    assert (evidence.format, evidence.files_found, evidence.samples, evidence.problems) == ("speculators-v1", 1, 1, ())
    assert evidence.token_maximum_where.file == "data_1.pt"


def test_a_row_of_an_arrow_dataset_finds_its_mask_as_a_single_file(tmp_path: Path) -> None:
    paths = write_dataset("speculators-arrow", tmp_path, make_samples(3))
    for subject in (paths[1], paths[1].parent):
        evidence = read_evidence(subject)
        assert (evidence.format, evidence.problems) == ("speculators-arrow", ())
        assert {one.mask_surplus for one in evidence.signatures} == {0}


@pytest.mark.parametrize("value", ["nowhere", "specforge:nowhere", "nonsense:nowhere"])
def test_a_path_that_is_not_there_cannot_be_used(value: str) -> None:
    with pytest.raises(SubjectError, match="there is no such file or folder"):
        read_evidence(value)


def test_a_link_that_leads_nowhere_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    with pytest.raises(SubjectError, match="a link that leads nowhere"):
        read_evidence(tmp_path / "link")


def test_a_pipe_cannot_be_used(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "data_0.pt")
    with pytest.raises(SubjectError, match="neither a folder nor a plain file"):
        read_evidence(tmp_path / "data_0.pt")


def test_a_file_whose_name_looks_like_a_prefix_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = write_dataset("speculators-v1", tmp_path, make_samples(1))
    path.rename(tmp_path / "specforge:x.pt")
    monkeypatch.chdir(tmp_path)
    assert read_evidence("specforge:x.pt").format == "speculators-v1"


def test_a_link_to_the_folder_is_followed(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path / "real", make_samples(1))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert read_evidence(tmp_path / "link").problems == ()


def test_an_empty_folder_is_a_problem(tmp_path: Path) -> None:
    (problem,) = read_evidence(tmp_path).problems
    assert (problem.kind, problem.where.file) == ("empty", str(tmp_path))


def test_a_folder_of_other_files_says_what_it_holds(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "README"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    (problem,) = read_evidence(tmp_path).problems
    assert problem.kind == "empty"
    assert "2 .csv files, 1 files without a suffix" in problem.reason


def test_a_file_of_another_kind_is_of_no_known_format(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    (problem,) = read_evidence(tmp_path / "notes.txt").problems
    assert (problem.kind, problem.where.file) == ("unknown-format", "notes.txt")


def test_lock_temporary_hidden_and_vocabulary_files_are_no_samples(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(2))
    for name in ("x.pt.lock", "data_9.pt.tmp", ".data_9.pt", "token_freq.pt", "d2t.pt"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 half")
    (tmp_path / ".cache").mkdir()
    evidence = read_evidence(tmp_path)
    assert (evidence.files_found, evidence.problems) == (2, ())
    assert evidence.notes == (
        "not read as samples: 1 hidden files, 1 hidden folders, 1 lock files, 1 temporary files, 2 vocabulary files",
    )


def test_problems_of_some_files_do_not_keep_the_others_from_being_read(tmp_path: Path) -> None:
    paths = write_dataset("speculators-v1", tmp_path, make_samples(4))
    paths[1].write_bytes(paths[1].read_bytes()[:100])
    paths[2].write_bytes(b"")
    evidence = read_evidence(tmp_path)
    assert (evidence.files_found, evidence.files_read, evidence.samples) == (4, 2, 2)
    assert [(problem.kind, problem.where.file) for problem in evidence.problems] == [
        ("truncated", "data_1.pt"),
        ("truncated", "data_2.pt"),
    ]


def test_a_git_lfs_pointer_is_missing_data(tmp_path: Path) -> None:
    (tmp_path / "data_0.pt").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", encoding="utf-8")
    (problem,) = read_evidence(tmp_path).problems
    assert (problem.kind, problem.remedy) == ("missing", "git lfs pull")


def test_without_torch_every_pt_file_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    write_dataset("speculators-v1", tmp_path, make_samples(2))
    monkeypatch.setitem(sys.modules, "torch", None)
    evidence = read_evidence(tmp_path)
    assert kinds(evidence) == ["needs", "needs"]
    assert "eagle3-contracts[torch]" in evidence.problems[0].remedy


def test_samples_are_spread_evenly() -> None:
    assert sample_evenly(range(3), 5, 0) == [0, 1, 2]
    for seed in range(20):
        assert [item // 10 for item in sample_evenly(range(100), 10, seed)] == list(range(10))


def test_long_samples_are_probed_first() -> None:
    assert pick_probes([5, 100, 7, 200, 0], 2, 0, 64) == [1, 3]
    assert pick_probes([5, 100, 7, 0], 3, 0, 64) == [0, 1, 2]
    assert pick_probes([50, 90, 60], 2, 0, 100) == [0, 1, 2]
    assert pick_probes([50, 90, 60], 2, 0, 70) == [1, 2]
    assert pick_probes([1] * 300, 4, 0, 64) == list(range(128)), "as many as a median needs, where samples are short"
    assert len({tuple(pick_probes([100] * 50, 3, seed, 64)) for seed in range(10)}) > 5


@pytest.mark.parametrize("scan", ["headers", "sample", "full"])
def test_every_file_is_opened_once(scan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eagle3_contracts.subjects.datasets import reading

    paths = write_dataset("speculators-v1", tmp_path, make_samples(12))
    paths[3].write_bytes(b"PK")
    opened: list[str] = []
    open_file = reading.open_file

    def counted(file: FoundFile, *, sums: bool) -> list[Entry]:
        opened.append(file.name)
        return open_file(file, sums=sums)

    monkeypatch.setattr(reading, "open_file", counted)
    evidence = read_evidence(tmp_path, scan=scan)
    assert sorted(opened) == sorted(path.name for path in paths)
    assert (evidence.files_read, kinds(evidence)) == (11, ["truncated"])
