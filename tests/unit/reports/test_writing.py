from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.reports.writing import write_text


def test_a_report_replaces_the_old_one_and_leaves_no_sibling(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.json"
    write_text(path, "one")
    write_text(path, "two\n")
    assert path.read_bytes() == b"two\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_report_that_cannot_be_put_in_place_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    (path / "occupied").mkdir(parents=True)
    with pytest.raises(OSError, match=r"report\.json"):
        write_text(path, "text")
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_that_cannot_be_written_whole_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_text(path, "old")
    with pytest.raises(TypeError):
        write_text(path, 3)  # type: ignore[arg-type]
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
