"""Telling formats apart: by structure and declared meaning, never by a key's name; ambiguity names the candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from support.datasets import kinds, read_evidence
from support.formats import WRITERS, make_samples, write_dataset
from support.judging.documents import toy_contract


def _change(path: Path, **changes: Any) -> None:
    """Write a file of torch.save again with some keys changed; None removes a key."""
    record = {**torch.load(path), **changes}
    torch.save({key: value for key, value in record.items() if value is not None}, path)


def _states(length: int, width: int) -> torch.Tensor:
    return torch.randn(length, width).bfloat16()


def _record(length: int = 20, **states: Any) -> dict[str, Any]:
    return {"input_ids": torch.arange(length), "loss_mask": torch.arange(length) % 2, **states}


HIDDEN_STATES: dict[str, tuple[str, Any]] = {
    "a list of planes": ("speculators-v1", {"hidden_states": [_states(20, 8) for _ in range(4)]}),
    "the auxiliary planes": ("angelslim", {"hidden_states": _states(20, 24), "target_hiddens": _states(20, 8)}),
    "the last state": ("torchspec", {"hidden_states": _states(20, 8), "aux_hidden_states": _states(20, 24)}),
    "hidden_state as planes": ("speculators-v0", {"hidden_state": _states(20, 24), "target": _states(20, 8)}),
    "hidden_state as last": ("specforge", {"hidden_state": _states(20, 8), "aux_hidden_state": _states(20, 24)}),
}


@pytest.mark.parametrize("case", HIDDEN_STATES)
def test_one_key_is_told_by_what_it_holds(case: str, tmp_path: Path) -> None:
    expected, states = HIDDEN_STATES[case]
    suffix = ".pt" if expected.startswith("speculators") else ".ckpt"
    record = _record(**states)
    batched = {key: value[None] for key, value in record.items()} if expected == "angelslim" else record
    torch.save(batched, tmp_path / f"data_0{suffix}")
    evidence = read_evidence(tmp_path)
    assert (evidence.format, evidence.problems) == (expected, ())
    (signature,) = evidence.signatures
    assert signature.widths == (8, 8, 8, 8)


def test_states_whose_widths_do_not_relate_fit_no_format(tmp_path: Path) -> None:
    """SpecForge's keys with the wide tensor under the last state's: the other tool's meaning of the words."""
    torch.save(_record(hidden_state=_states(20, 24), aux_hidden_state=_states(20, 8)), tmp_path / "data_0.ckpt")
    (problem,) = read_evidence(tmp_path).problems
    assert problem.kind == "unknown-format"
    assert "here aux_hidden_state is 8 wide and hidden_state 24" in problem.reason


def test_a_key_misnamed_in_every_file_is_told_of_every_file(tmp_path: Path) -> None:
    for number in range(5):
        torch.save(_record(hidden_statez=_states(20, 24)), tmp_path / f"data_{number}.pt")
    problems = read_evidence(tmp_path).problems
    assert [problem.kind for problem in problems] == ["unknown-format"] * 5
    assert [problem.where.file for problem in problems] == [f"data_{number}.pt" for number in range(5)]
    assert all("hidden_statez" in problem.reason for problem in problems)


def test_planes_and_tokens_on_swapped_axes_fit_no_format(tmp_path: Path) -> None:
    save_file(
        {"hidden_states": torch.randn(4, 20, 8).bfloat16(), "token_ids": torch.arange(20)}, tmp_path / "r.safetensors"
    )
    (problem,) = read_evidence(tmp_path).problems
    assert problem.kind == "unknown-format"
    assert "here tokens are the second axis: [4, 20, 8]" in problem.reason


def test_as_many_planes_as_tokens_are_read_as_the_format_declares(tmp_path: Path) -> None:
    save_file({"hidden_states": torch.randn(4, 4, 8), "token_ids": torch.arange(4)}, tmp_path / "r.safetensors")
    assert read_evidence(tmp_path).format == "vllm-connector"


def test_one_row_more_or_less_is_a_surplus_and_no_other_format(tmp_path: Path) -> None:
    for surplus in (-1, 1):
        path = tmp_path / f"r{surplus}.safetensors"
        save_file({"hidden_states": torch.randn(20 + surplus, 4, 8), "token_ids": torch.arange(20)}, path)
    assert sorted(one.row_surplus or 0 for one in read_evidence(tmp_path).signatures) == [-1, 1]


def _undecided(folder: Path) -> Path:
    """ModelOpt's conversation id under TorchSpec's ending, with every key of both."""
    path = folder / "x.ckpt"
    states = {"hidden_states": _states(20, 8), "aux_hidden_states": _states(20, 24), "conversation_id": "x"}
    torch.save(_record(**states), path)
    return path


def test_a_difference_that_matters_to_the_contract_is_ambiguous(tmp_path: Path) -> None:
    path = _undecided(tmp_path)
    order = ["low", "mid", "high", "normed"]
    contract = toy_contract(
        storage={
            "planes": ["low", "mid", "high", "final"],
            "formats": {"modelopt": order, "torchspec": ["low", "mid", "high", "final"]},
        }
    )
    evidence = read_evidence(tmp_path, contract)
    (problem,) = evidence.problems
    assert (evidence.format, evidence.samples, problem.kind) == (None, 0, "ambiguous")
    assert "modelopt or torchspec" in problem.reason
    assert problem.remedy.startswith(f"say which: modelopt:{tmp_path}")
    for named in ("modelopt", "torchspec"):
        told = read_evidence(f"{named}:{path}", contract)
        assert (told.format, told.problems, told.samples) == (named, (), 1)


def test_a_difference_that_does_not_matter_is_noted_and_read(tmp_path: Path) -> None:
    _undecided(tmp_path)
    evidence = read_evidence(tmp_path)
    assert (evidence.format, evidence.problems, evidence.samples) == ("modelopt", (), 1)
    assert "may be modelopt or torchspec" in evidence.notes[0]


def test_the_contract_decides_between_formats_it_names_one_of(tmp_path: Path) -> None:
    _undecided(tmp_path)
    order = ["low", "mid", "high", "final"]
    contract = toy_contract(storage={"planes": order, "formats": {"torchspec": ["low", "mid", "high", "normed"]}})
    assert read_evidence(tmp_path, contract).format == "torchspec"


def test_what_a_file_is_named_goes_before_what_the_contract_lists(tmp_path: Path) -> None:
    plain = {"hidden_states": _states(20, 8), "aux_hidden_states": _states(20, 24)}
    torch.save(_record(**plain), tmp_path / "b.ckpt")
    order = ["low", "mid", "high", "final"]
    contract = toy_contract(storage={"planes": order, "formats": {"modelopt": ["low", "mid", "high", "normed"]}})
    assert read_evidence(tmp_path, contract).format == "torchspec"


def test_a_stamp_decides(tmp_path: Path) -> None:
    _undecided(tmp_path)
    (tmp_path / "eagle3-contract.json").write_text('{"format": "torchspec"}', encoding="utf-8")
    assert read_evidence(tmp_path).format == "torchspec"


def test_a_batch_axis_or_an_ending_decides_between_modelopt_and_torchspec(tmp_path: Path) -> None:
    plain = {"hidden_states": _states(20, 8), "aux_hidden_states": _states(20, 24)}
    torch.save(_record(**plain), tmp_path / "a.pt")
    torch.save(_record(**plain), tmp_path / "b.ckpt")
    assert read_evidence(tmp_path / "a.pt").format == "modelopt"
    assert read_evidence(tmp_path / "b.ckpt").format == "torchspec"


def test_a_named_format_that_does_not_fit_says_why(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(2))
    evidence = read_evidence(f"specforge:{tmp_path}")
    assert kinds(evidence) == ["unknown-format", "unknown-format"]
    assert "specforge needs hidden_state" in evidence.problems[0].reason


def test_files_of_another_format_are_problems_and_the_rest_is_read(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(3))
    torch.save(_record(hidden_state=_states(20, 24), target=_states(20, 8)), tmp_path / "data_9.pt")
    evidence = read_evidence(tmp_path)
    (problem,) = evidence.problems
    assert (evidence.format, evidence.samples) == ("speculators-v1", 3)
    assert (problem.kind, problem.where.file) == ("unknown-format", "data_9.pt")


@pytest.mark.parametrize("key", ["input_ids", "loss_mask"])
def test_a_missing_key_is_named_and_the_states_are_read_all_the_same(key: str, tmp_path: Path) -> None:
    paths = write_dataset("specforge", tmp_path, make_samples(2))
    _change(paths[0], **{key: None})
    evidence = read_evidence(tmp_path)
    (problem,) = evidence.problems
    assert (problem.kind, problem.where.file) == ("missing", "rows_0-2000/data_0.ckpt")
    assert f"lacks {key}" in problem.reason
    assert evidence.planes[0].rows == 45


def test_ids_kept_as_a_list_of_numbers_are_missing(tmp_path: Path) -> None:
    paths = write_dataset("specforge", tmp_path, make_samples(2))
    _change(paths[1], input_ids=list(range(25)))
    assert kinds(read_evidence(tmp_path)) == ["missing"]


def test_a_state_dict_fits_no_format(tmp_path: Path) -> None:
    torch.save({"model.norm.weight": torch.ones(8), "optimizer": {"lr": 0.1}}, tmp_path / "model.pt")
    (problem,) = read_evidence(tmp_path).problems
    assert problem.kind == "unknown-format"
    assert "model.norm.weight float32 [8]" in problem.reason
    assert all(name in problem.remedy for name in WRITERS)


@pytest.mark.parametrize("held", [torch.ones(3), [torch.ones(3)], "text", 7])
def test_anything_but_dicts_of_tensors_is_no_sample(held: Any, tmp_path: Path) -> None:
    torch.save(held, tmp_path / "data_0.pt")
    assert kinds(read_evidence(tmp_path)) == ["unknown-format"]


def test_an_empty_list_is_empty(tmp_path: Path) -> None:
    torch.save([], tmp_path / "data_0.pt")
    assert kinds(read_evidence(tmp_path)) == ["empty"]


def test_tensorrt_llm_keeps_the_last_state_twice_where_the_contract_says_so(tmp_path: Path) -> None:
    """With -1 asked for, the auxiliary tensor ends with the last state: as many blocks as planes are declared."""
    last = _states(20, 8)
    for key in ("aux_hidden_states", "hidden_state_features"):
        folder = tmp_path / key
        folder.mkdir()
        record = {
            "id": 1,
            "input_ids": torch.arange(20),
            "hidden_state": last,
            key: torch.cat([_states(20, 24), last], 1),
        }
        torch.save([record], folder / "data_20.pt")
        (signature,) = read_evidence(folder).signatures
        assert signature.planes == 4
        (signature,) = read_evidence(folder, toy_contract("embed", "low", "mid", "high", "final")).signatures
        assert signature.planes == 5


def test_a_last_state_that_differs_from_the_block_taken_for_it_is_a_plane_of_its_own(tmp_path: Path) -> None:
    """Trainers read hidden_state: were the last block taken in its place, nobody would look at it."""
    contract = toy_contract("embed", "low", "mid", "final")
    last = _states(20, 8)
    last[3] = torch.nan
    for name, kept, planes in (("same", last, 4), ("other", torch.zeros_like(last), 5)):
        folder = tmp_path / name
        folder.mkdir()
        auxiliary = torch.cat([_states(20, 24), last], 1)
        record = {"id": 1, "input_ids": torch.arange(20), "hidden_state": kept, "aux_hidden_states": auxiliary}
        torch.save([record], folder / "data_20.pt")
        (signature,) = read_evidence(folder, contract).signatures
        assert signature.planes == planes


def test_tensorrt_llm_may_keep_the_last_state_alone(tmp_path: Path) -> None:
    torch.save([{"id": 1, "input_ids": torch.arange(20), "hidden_state": _states(20, 8)}], tmp_path / "data_20.pt")
    evidence = read_evidence(tmp_path, toy_contract("normed"))
    assert (evidence.format, evidence.problems, len(evidence.planes)) == ("tensorrt-llm", (), 1)


@pytest.mark.parametrize(
    ("auxiliary", "last", "widths"),
    [
        (24, 8, (8, 8, 8, 8)),
        (24, 5, (8, 8, 8, 5)),
        (24, 12, (8, 8, 8, 12)),
        (48, 16, (16, 16, 16, 16)),
        (15, 5, (5, 5, 5, 5)),
    ],
)
def test_planes_are_as_wide_as_the_last_state_or_else_as_the_target(
    auxiliary: int, last: int, widths: tuple[int, ...], tmp_path: Path
) -> None:
    record = _record(hidden_state=_states(20, last)[None], aux_hidden_state=_states(20, auxiliary)[None])
    torch.save(record, tmp_path / "data_0.ckpt")
    (signature,) = read_evidence(tmp_path).signatures
    assert signature.widths == widths


def test_rows_without_their_arrow_dataset_are_recognised_and_incomplete(tmp_path: Path) -> None:
    paths = write_dataset("speculators-arrow", tmp_path / "whole", make_samples(2))
    for path in paths:
        path.rename(tmp_path / path.name)
    (tmp_path / "whole" / "state.json").unlink()
    (tmp_path / "whole" / "data-00000-of-00001.arrow").unlink()
    evidence = read_evidence(tmp_path)
    assert evidence.format == "speculators-arrow"
    assert "no Arrow dataset beside the states" in evidence.problems[0].reason


def test_a_bf16_file_beside_scales_is_not_taken_for_fp8(tmp_path: Path) -> None:
    (path,) = write_dataset("vllm-connector", tmp_path, make_samples(1))
    save_file({**load_file(path), "hidden_states_scales": torch.ones(20, 1, 1)}, path)
    assert read_evidence(tmp_path).format == "vllm-connector"
