"""The Arrow dataset of speculators: masks, rows and files that must belong together, names that must stay inside."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file, save_file

from support.datasets import kinds, read_evidence
from support.formats import make_samples, select, write_dataset
from support.formats.safetensors_writers import write_arrow


def _write(folder: Path, count: int = 3) -> list[Path]:
    return write_dataset("speculators-arrow", folder, make_samples(count))


def test_masks_come_from_the_rows(tmp_path: Path) -> None:
    _write(tmp_path)
    evidence = read_evidence(tmp_path)
    assert (evidence.problems, evidence.mask_all_one.count, evidence.mask_other.count) == ((), 0, 0)
    write_arrow(tmp_path, [type(one)(one.token_ids, one.planes, (1,) * len(one.mask)) for one in make_samples(3)])
    assert read_evidence(tmp_path).mask_all_one.count == 3


def test_rows_without_states_are_counted_in_one_problem(tmp_path: Path) -> None:
    paths = _write(tmp_path, 5)
    paths[1].unlink()
    paths[3].unlink()
    (problem,) = read_evidence(tmp_path).problems
    assert problem.kind == "missing"
    assert problem.reason == "2 of 5 rows have no states: hs_1.safetensors, hs_3.safetensors"


def test_states_beyond_the_last_row_are_a_problem(tmp_path: Path) -> None:
    paths = _write(tmp_path)
    save_file(load_file(paths[0]), paths[0].with_name("hs_7.safetensors"))
    (problem,) = read_evidence(tmp_path).problems
    assert (problem.kind, problem.where.file) == ("missing", "hs_7.safetensors")


def test_states_of_other_tokens_than_the_rows_are_missing(tmp_path: Path) -> None:
    """The trainer compares, warns and drops the sample: so it has no states."""
    paths = _write(tmp_path)
    record = load_file(paths[1])
    record["token_ids"][4] += 1
    save_file(record, paths[1])
    (problem,) = read_evidence(tmp_path).problems
    assert (problem.kind, problem.where.file, problem.where.token) == ("missing", "hidden_states/hs_1.safetensors", 4)


def test_a_prefix_of_the_rows_tokens_is_not_the_row(tmp_path: Path) -> None:
    paths = _write(tmp_path)
    record = load_file(paths[2])
    save_file({key: value[:10].contiguous() for key, value in record.items()}, paths[2])
    evidence = read_evidence(tmp_path)
    assert kinds(evidence) == ["missing"]
    assert evidence.problems[0].where.token == 10
    assert sorted(one.mask_surplus or 0 for one in evidence.signatures) == [0, 20]


def test_headers_alone_compare_no_tokens(tmp_path: Path) -> None:
    paths = _write(tmp_path)
    record = load_file(paths[1])
    record["token_ids"][4] += 1
    save_file(record, paths[1])
    assert read_evidence(tmp_path, scan="headers").problems == ()


def test_a_name_without_a_row_has_no_mask(tmp_path: Path) -> None:
    paths = _write(tmp_path)
    paths[2].rename(paths[2].with_name("hs_two.safetensors"))
    reasons = [problem.reason for problem in read_evidence(tmp_path).problems]
    assert any("its name tells no row" in reason for reason in reasons)
    assert any("1 of 3 rows have no states: hs_2.safetensors" in reason for reason in reasons)


def test_a_dataset_without_masks_is_incomplete(tmp_path: Path) -> None:
    _write(tmp_path, 1)
    table = pa.table({"input_ids": pa.array([list(make_samples(1)[0].token_ids)], pa.list_(pa.int64()))})
    with (
        pa.OSFile(str(tmp_path / "data-00000-of-00001.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    (problem,) = read_evidence(tmp_path).problems
    assert problem.reason == "row 0 of the Arrow dataset has no loss_mask"


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.large_list(pa.int64()), pa.list_(pa.bool_())])
def test_masks_of_other_list_types_are_read(kind: Any, tmp_path: Path) -> None:
    samples = make_samples(1)
    _write(tmp_path, 1)
    table = pa.table(
        {
            "input_ids": pa.array([list(samples[0].token_ids)], pa.list_(pa.int32())),
            "loss_mask": pa.array(
                [[bool(one) if kind.value_type == pa.bool_() else one for one in samples[0].mask]], kind
            ),
        }
    )
    with (
        pa.OSFile(str(tmp_path / "data-00000-of-00001.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    evidence = read_evidence(tmp_path)
    (signature,) = evidence.signatures
    assert (signature.mask_surplus, evidence.mask_other.count, evidence.problems) == (0, 0, ())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside.arrow", "unsafe"),
        ("/etc/hostname", "unsafe"),
        ("..", "unsafe"),
        ("a\\b.arrow", "unsafe"),
        ("a\0b", "unsafe"),
        (7, "unsafe"),
        ("gone.arrow", "missing"),
    ],
)
def test_data_files_outside_the_folder_are_not_opened(name: Any, kind: str, tmp_path: Path) -> None:
    _write(tmp_path / "data")
    (tmp_path / "outside.arrow").write_bytes((tmp_path / "data" / "data-00000-of-00001.arrow").read_bytes())
    (tmp_path / "data" / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}), encoding="utf-8")
    (problem,) = read_evidence(tmp_path / "data").problems
    assert (problem.kind, problem.where.file) == (kind, "state.json")


def test_a_data_file_that_is_a_link_out_of_the_folder_is_unsafe(tmp_path: Path) -> None:
    _write(tmp_path / "data")
    inside = tmp_path / "data" / "data-00000-of-00001.arrow"
    inside.rename(tmp_path / "outside.arrow")
    inside.symlink_to(tmp_path / "outside.arrow")
    assert set(kinds(read_evidence(tmp_path / "data"))) == {"unsafe"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"_data_files": 3}', '{"_data_files": [3]}', "[" * 100_000])
def test_a_state_that_names_no_files_is_corrupt(text: str, tmp_path: Path) -> None:
    _write(tmp_path)
    (tmp_path / "state.json").write_text(text, encoding="utf-8")
    (problem,) = read_evidence(tmp_path).problems
    assert (problem.kind, problem.where.file) == ("corrupt", "state.json")


def test_without_pyarrow_the_masks_need_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    evidence = read_evidence(tmp_path)
    assert kinds(evidence) == ["needs"]
    assert "eagle3-contracts[arrow]" in evidence.problems[0].remedy
    assert evidence.planes[0].rows > 0


def test_offsets_that_lead_out_of_the_buffer_are_caught(tmp_path: Path) -> None:
    """Arrow offsets lead into memory; a flipped one must be found before a value is read."""
    _write(tmp_path)
    path = tmp_path / "data-00000-of-00001.arrow"
    good = path.read_bytes()
    offsets = torch.tensor([0, 20, 45], dtype=torch.int32).numpy().tobytes()
    at = good.index(offsets)
    path.write_bytes(good[: at + 4] + b"\xff\xff\xff\x7f" + good[at + 8 :])
    evidence = read_evidence(tmp_path)
    assert kinds(evidence) == ["corrupt"]
    assert evidence.problems[0].where.file == "data-00000-of-00001.arrow"


def test_planes_may_be_stored_in_another_order_than_written(tmp_path: Path) -> None:
    """The stack's second axis is the order on disk: swapped planes are swapped, nothing sorts them."""
    samples = make_samples(1)
    write_dataset("speculators-arrow", tmp_path, select(samples, [2, 1, 0, 3]), "float32")
    planes = read_evidence(tmp_path).planes
    assert planes[0].norms.median > planes[1].norms.median > planes[2].norms.median


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_compressed_batches_are_refused_before_they_are_unpacked(compression: str, tmp_path: Path) -> None:
    """A bomb: zeros of 400 MB in some kilobytes. datasets never compresses."""
    _write(tmp_path, 1)
    zeros = pa.array([[0] * 50_000_000], pa.list_(pa.int64())) if compression == "zstd" else pa.array([[0]])
    options = pa.ipc.IpcWriteOptions(compression=compression)
    path = tmp_path / "data-00000-of-00001.arrow"
    table = pa.table({"input_ids": zeros, "loss_mask": zeros})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    held = pa.total_allocated_bytes()
    del zeros, table
    evidence = read_evidence(tmp_path)
    assert kinds(evidence) == ["corrupt"]
    assert "its batches are compressed" in evidence.problems[0].reason
    assert pa.total_allocated_bytes() <= held


def test_other_columns_are_not_read(tmp_path: Path) -> None:
    samples = make_samples(1)
    _write(tmp_path, 1)
    table = pa.table(
        {
            "messages": pa.array([[{"role": "user", "content": "x"}]]),
            "kind": pa.array(["a"]).dictionary_encode(),
            "input_ids": pa.array([list(samples[0].token_ids)], pa.list_(pa.int64())),
            "loss_mask": pa.array([list(samples[0].mask)], pa.list_(pa.int64())),
        }
    )
    path = tmp_path / "data-00000-of-00001.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert read_evidence(tmp_path).problems == ()


def test_a_neighbour_with_numbers_that_are_none_is_corrupt(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(1))
    (tmp_path / "data_config.json").write_text('{"a": NaN}', encoding="utf-8")
    assert kinds(read_evidence(tmp_path)) == ["corrupt"]
