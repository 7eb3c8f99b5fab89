"""What is counted: rows that are not finite or all zero, norms, repeats, equal planes, ids, masks, doubles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from eagle3_contracts.findings import Where
from support.datasets import kinds, read_evidence
from support.formats import GoodSample, make_sample, make_samples, write_dataset
from support.judging.documents import toy_contract


def _write(
    folder: Path, *samples: GoodSample, format_id: str = "speculators-v1", dtype: str = "bfloat16"
) -> list[Path]:
    return write_dataset(format_id, folder, samples, dtype)


def _spoilt(sample: GoodSample, plane: int, row: int, value: float) -> GoodSample:
    planes = sample.planes.copy()
    planes[plane, row] = value
    return GoodSample(sample.token_ids, planes, sample.mask)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_rows_that_are_not_finite_are_counted_and_placed(value: float, dtype: str, tmp_path: Path) -> None:
    _write(tmp_path, make_sample(0), _spoilt(make_sample(1), 2, 17, value), dtype=dtype)
    planes = read_evidence(tmp_path).planes
    assert [plane.nonfinite.count for plane in planes] == [0, 0, 1, 0]
    assert planes[2].nonfinite.first == (Where(file="data_1.pt", plane="high", token=17),)
    assert planes[2].norms.count == planes[2].rows - 1


def test_one_value_in_a_row_is_enough(tmp_path: Path) -> None:
    sample = make_sample(0)
    sample.planes[1, 3, 5] = np.nan
    _write(tmp_path, sample)
    assert read_evidence(tmp_path).planes[1].nonfinite.first[0].token == 3


def test_large_float64_values_are_finite(tmp_path: Path) -> None:
    """Their squares overflow; the rows are finite all the same."""
    record = {"input_ids": torch.arange(4), "loss_mask": torch.arange(4) % 2}
    planes = [torch.full((4, 8), 1e200, dtype=torch.float64) for _ in range(4)]
    torch.save(record | {"hidden_states": planes}, tmp_path / "data_0.pt")
    assert read_evidence(tmp_path).planes[0].nonfinite.count == 0


def test_zero_rows_are_counted_and_placed(tmp_path: Path) -> None:
    _write(tmp_path, _spoilt(make_sample(0), 0, 4, 0.0), _spoilt(make_sample(1), 0, 9, -0.0))
    planes = read_evidence(tmp_path).planes
    assert [plane.zero.count for plane in planes] == [2, 0, 0, 0]
    assert [(where.file, where.plane, where.token) for where in planes[0].zero.first] == [
        ("data_0.pt", "low", 4),
        ("data_1.pt", "low", 9),
    ]


def test_norms_are_those_of_the_rows(tmp_path: Path) -> None:
    sample = make_sample(0, 64, hidden=8)
    _write(tmp_path, sample, dtype="float32")
    for plane, states in zip(read_evidence(tmp_path).planes, sample.planes, strict=True):
        norms = np.sort(np.linalg.norm(states, axis=-1))
        assert plane.norms.median == pytest.approx(norms[31], rel=0.01)
        assert plane.norms.maximum == pytest.approx(norms[-1], rel=1e-6)
        assert plane.norms.minimum == pytest.approx(norms[0], rel=1e-6)


def test_planes_are_named_by_their_place_where_counts_differ(tmp_path: Path) -> None:
    _write(tmp_path, _spoilt(make_sample(0, planes=5), 4, 1, 0.0))
    assert read_evidence(tmp_path).planes[4].zero.first[0].plane == "4"


def test_an_embedding_plane_is_told_by_repeats_within_and_across_samples(tmp_path: Path) -> None:
    _write(tmp_path, *make_samples(3, embedding_plane=1))
    planes = read_evidence(tmp_path).planes
    assert [plane.repeat_equal for plane in planes[::2]] == [0, 0]
    assert planes[1].repeat_equal == planes[1].repeat_pairs > 60
    assert all(not plane.row_digests for plane in planes)


def test_repeats_across_samples_count_where_none_repeats_within(tmp_path: Path) -> None:
    one = make_sample(0, 12, embedding_plane=0)
    forward = GoodSample(tuple(range(12)), one.planes, one.mask)
    backward = GoodSample(tuple(reversed(range(12))), one.planes[:, ::-1].copy(), one.mask)
    _write(tmp_path, forward, backward)
    planes = read_evidence(tmp_path).planes
    assert (planes[0].repeat_pairs, planes[0].repeat_equal) == (12, 12)


def test_samples_that_begin_alike_have_no_repeats_across(tmp_path: Path) -> None:
    """A shared system prompt has equal rows at every boundary; only other positions say anything."""
    one = make_sample(0, 12)
    same = GoodSample(tuple(range(12)), one.planes, one.mask)
    other = GoodSample(
        (*range(8), 20, 21, 22, 23), np.concatenate([one.planes[:, :8], one.planes[:, 8:] + 1], 1), one.mask
    )
    _write(tmp_path, same, other)
    assert all(plane.repeat_equal == plane.repeat_pairs == 0 for plane in read_evidence(tmp_path).planes)


def test_equal_planes_are_found_whatever_the_layout(tmp_path: Path) -> None:
    sample = make_sample(0)
    sample.planes[2] = sample.planes[0]
    for format_id in ("speculators-v1", "specforge", "vllm-connector"):
        _write(tmp_path / format_id, sample, make_sample(1), format_id=format_id)
        evidence = read_evidence(tmp_path / format_id)
        assert {pair: tally.count for pair, tally in evidence.identical_planes.items()} == {(0, 2): 1}


def test_doubles_of_samples_and_of_states_are_counted(tmp_path: Path) -> None:
    one, two = make_sample(0), make_sample(1)
    _write(tmp_path, one, two, one, GoodSample(two.token_ids[::-1], two.planes, two.mask))
    evidence = read_evidence(tmp_path)
    assert sorted(tally.count for tally in evidence.token_digests.values()) == [1, 1, 2]
    assert sorted(tally.count for tally in evidence.state_digests.values()) == [2, 2]
    assert [where.file for where in max(evidence.token_digests.values(), key=lambda one: one.count).first] == [
        "data_0.pt",
        "data_2.pt",
    ]


def test_token_ids_are_bounded_with_their_places(tmp_path: Path) -> None:
    one, two = make_sample(0), make_sample(1)
    ids = list(two.token_ids)
    ids[5], ids[7] = -100, 4321
    _write(tmp_path, one, GoodSample(tuple(ids), two.planes, two.mask))
    evidence = read_evidence(tmp_path)
    assert (evidence.token_maximum, evidence.token_maximum_where) == (4321, Where(file="data_1.pt", token=7))
    assert (evidence.tokens_below_zero.count, evidence.tokens_below_zero.first[0].token) == (1, 5)


def test_masks_are_told_apart(tmp_path: Path) -> None:
    def masked(seed: int, *mask: int) -> GoodSample:
        one = make_sample(seed, 4)
        return GoodSample(one.token_ids, one.planes, mask)

    _write(tmp_path, masked(0, 0, 0, 0, 0), masked(1, 1, 1, 1, 1), masked(2, 0, 1, 2, -1), masked(3, 0, 1, 0, 1))
    evidence = read_evidence(tmp_path)
    assert (evidence.mask_all_zero.count, evidence.mask_all_one.count) == (1, 1)
    assert evidence.mask_other.count == 2
    assert evidence.mask_other.first[0] == Where(file="data_2.pt", token=2)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int32, torch.float32, torch.uint8])
def test_masks_of_other_dtypes_are_read_by_value(dtype: torch.dtype, tmp_path: Path) -> None:
    (path,) = _write(tmp_path, make_sample(0))
    record = torch.load(path)
    torch.save({**record, "loss_mask": record["loss_mask"].to(dtype)}, path)
    evidence = read_evidence(tmp_path)
    assert (evidence.mask_other.count, evidence.mask_all_one.count, evidence.problems) == (0, 0, ())


def test_a_mask_of_another_length_is_a_surplus(tmp_path: Path) -> None:
    one = make_sample(0)
    _write(tmp_path, GoodSample(one.token_ids, one.planes, (*one.mask, 1)))
    (signature,) = read_evidence(tmp_path).signatures
    assert (signature.row_surplus, signature.mask_surplus) == (0, 1)


def test_the_plane_that_is_furthest_off_gives_the_surplus_of_rows(tmp_path: Path) -> None:
    (path,) = _write(tmp_path, make_sample(0, hidden=8))
    record = torch.load(path)
    record["hidden_states"][1] = record["hidden_states"][1][:-2]
    torch.save(record, path)
    (signature,) = read_evidence(tmp_path).signatures
    assert signature.row_surplus == -2
    assert (
        dict(signature.tensors)["hidden_states"]
        == "bfloat16 [T, 8]; bfloat16 [T-2, 8]; bfloat16 [T, 8]; bfloat16 [T, 8]"
    )


@pytest.mark.parametrize(
    ("ids", "kind"),
    [(torch.rand(24), "corrupt"), (torch.arange(48).reshape(2, 24), "corrupt")],
)
def test_token_ids_that_are_no_whole_numbers_of_one_sequence_are_corrupt(
    ids: torch.Tensor, kind: str, tmp_path: Path
) -> None:
    (path,) = _write(tmp_path, make_sample(0))
    torch.save({**torch.load(path), "input_ids": ids}, path)
    evidence = read_evidence(tmp_path)
    assert kinds(evidence) == [kind]
    assert evidence.token_maximum is None
    assert evidence.planes[0].rows == 24


def test_a_sample_without_tokens_is_empty(tmp_path: Path) -> None:
    one = make_sample(0)
    _write(tmp_path, GoodSample((), one.planes[:, :0], ()), one)
    evidence = read_evidence(tmp_path)
    assert kinds(evidence) == ["empty"]
    assert evidence.samples == 2


def test_lengths_are_sketched(tmp_path: Path) -> None:
    _write(tmp_path, *make_samples(3))
    lengths = read_evidence(tmp_path).lengths
    assert (lengths.minimum, lengths.maximum, lengths.count) == (20, 30, 3)


def test_states_stored_as_whole_numbers_are_read_by_no_format(tmp_path: Path) -> None:
    (path,) = _write(tmp_path, make_sample(0), format_id="specforge")
    record: dict[str, Any] = torch.load(path)
    torch.save({key: value.to(torch.int8) for key, value in record.items()}, path)
    (problem,) = read_evidence(tmp_path, toy_contract()).problems
    assert problem.kind == "unknown-format"
    assert "here it holds int8" in problem.reason
