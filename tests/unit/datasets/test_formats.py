"""Good files of every format: recognised, and read as the planes, ids and masks that were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from eagle3_contracts.subjects import Options
from eagle3_contracts.subjects.datasets.containers import open_file
from eagle3_contracts.subjects.datasets.reading import open_source, read_dataset, read_sample
from support.datasets import read_evidence
from support.formats import ALL_WRITERS, make_samples, write_dataset

CASES = pytest.mark.parametrize("name", ALL_WRITERS)


@CASES
def test_a_good_dataset_is_recognised_and_raises_no_problem(name: str, tmp_path: Path) -> None:
    format_id, write = ALL_WRITERS[name]
    write(tmp_path, make_samples(3, hidden=8))
    evidence = read_evidence(tmp_path)
    assert (evidence.format, evidence.problems, evidence.samples) == (format_id, (), 3)
    assert evidence.files_found == evidence.files_read > 0
    (signature,) = evidence.signatures
    assert (signature.planes, signature.widths, signature.row_surplus) == (4, (8, 8, 8, 8), 0)


@CASES
def test_planes_ids_and_masks_come_back_in_disk_order(name: str, tmp_path: Path) -> None:
    _, write = ALL_WRITERS[name]
    samples = make_samples(3, hidden=8)
    write(tmp_path, samples)
    reading = read_dataset(open_source("under test", str(tmp_path), None, Options(scan="full")))
    for (file, entry, length), written in zip(reading.samples, samples, strict=True):
        sample = read_sample(open_file(file)[entry], reading)
        assert length == len(written.token_ids)
        assert sample.token_ids is not None
        assert sample.token_ids.bits.tolist() == list(written.token_ids)
        assert sample.mask is None or sample.mask.bits.tolist() == list(written.mask)
        bound = 0.08 if sample.planes[0].scales is not None else 0.004
        for plane, states in zip(sample.planes, written.planes, strict=True):
            difference = np.linalg.norm(plane.read_float32(length) - states) / np.linalg.norm(states)
            assert difference < bound


@pytest.mark.parametrize(
    "name", [name for name in ALL_WRITERS if name not in {"modelopt", "tensorrt-llm", "vllm-connector"}]
)
def test_the_mask_is_found_wherever_the_format_keeps_it(name: str, tmp_path: Path) -> None:
    _, write = ALL_WRITERS[name]
    write(tmp_path, make_samples(2))
    (signature,) = read_evidence(tmp_path).signatures
    assert signature.mask_surplus == 0


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("format_id", ["speculators-v1", "specforge", "vllm-connector"])
def test_the_stored_dtype_is_told_and_read(format_id: str, dtype: str, tmp_path: Path) -> None:
    samples = make_samples(1)
    write_dataset(format_id, tmp_path, samples, dtype)
    evidence = read_evidence(tmp_path)
    (signature,) = evidence.signatures
    assert set(signature.dtypes) == {dtype}
    expected = torch.from_numpy(samples[0].planes[0]).to(getattr(torch, dtype)).double().norm(dim=-1).max().item()
    assert evidence.planes[0].norms.maximum == pytest.approx(expected, rel=1e-6)


def test_fp8_states_are_multiplied_by_their_scales(tmp_path: Path) -> None:
    samples = make_samples(1)
    write_dataset("hs-connectors-fp8", tmp_path, samples)
    norms = np.linalg.norm(samples[0].planes[2], axis=-1)
    assert read_evidence(tmp_path).planes[2].norms.median == pytest.approx(np.median(norms), rel=0.05)


def test_fp8_states_do_not_count_repeats(tmp_path: Path) -> None:
    """One factor of a token covers all its planes: equal embedding rows need not stay equal."""
    write_dataset("hs-connectors-fp8", tmp_path, make_samples(2, embedding_plane=0))
    assert [plane.repeat_pairs for plane in read_evidence(tmp_path).planes] == [0, 0, 0, 0]


def test_fp8_without_scales_shows_in_the_header_facts(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    (path,) = write_dataset("hs-connectors-fp8", tmp_path, make_samples(1))
    record = load_file(path)
    del record["hidden_states_scales"]
    save_file(record, path)
    evidence = read_evidence(tmp_path)
    (signature,) = evidence.signatures
    assert evidence.format == "hs-connectors-fp8"
    assert set(signature.dtypes) == {"float8_e4m3fn"}
    assert [name for name, _ in signature.tensors] == ["hidden_states", "token_ids"]
    assert evidence.problems == ()


def test_scales_that_are_not_one_per_token_are_corrupt(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    (path,) = write_dataset("hs-connectors-fp8", tmp_path, make_samples(1))
    record = load_file(path)
    record["hidden_states_scales"] = record["hidden_states_scales"][:-1].contiguous()
    save_file(record, path)
    (problem,) = read_evidence(tmp_path).problems
    assert (problem.kind, problem.where.tensor) == ("corrupt", "hidden_states_scales")


def test_a_sample_of_one_token_is_read(tmp_path: Path) -> None:
    from support.formats import make_sample

    for name, (format_id, write) in ALL_WRITERS.items():
        folder = tmp_path / name.replace(" ", "")
        write(folder, [make_sample(0, 1)])
        evidence = read_evidence(folder)
        (signature,) = evidence.signatures
        assert (evidence.format, evidence.problems) == (format_id, ())
        assert (signature.row_surplus, signature.widths) == (0, (16,) * 4)


def test_header_facts_do_not_depend_on_the_length(tmp_path: Path) -> None:
    for name, (_, write) in ALL_WRITERS.items():
        from support.formats import make_sample

        folder = tmp_path / name.replace(" ", "")
        write(folder, [make_sample(index, length) for index, length in enumerate((1, 2, 16, 33))])
        assert len(read_evidence(folder).signatures) == 1, name


def test_legacy_containers_are_read_too(tmp_path: Path) -> None:
    (path,) = write_dataset("speculators-v1", tmp_path, make_samples(1))
    torch.save(torch.load(path), path, _use_new_zipfile_serialization=False)
    evidence = read_evidence(tmp_path)
    assert (evidence.format, evidence.problems, evidence.samples) == ("speculators-v1", (), 1)


def test_the_norm_flag_of_modelopt_is_declared(tmp_path: Path) -> None:
    paths = write_dataset("modelopt", tmp_path, make_samples(2))
    for path, flag in zip(paths, (True, False), strict=True):
        torch.save({**torch.load(path), "hidden_states_prenorm": flag}, path)
    assert read_evidence(tmp_path).declared["hidden_states_prenorm"] == (False, True)
    assert read_evidence(paths[0]).declared["hidden_states_prenorm"] is True


def test_neighbours_are_declared_and_doubted(tmp_path: Path) -> None:
    from support.formats.torch_writers import write_speculators_v1

    write_speculators_v1(tmp_path, make_samples(2), layer_ids=[1, 3, 5, 7])
    (tmp_path / "eagle3-contract.json").write_text('{"contract": "toy-eagle3@1.0.0"}', encoding="utf-8")
    (tmp_path / "sample_lengths.json").write_text('{"0": 20, "1": 24}', encoding="utf-8")
    evidence = read_evidence(tmp_path)
    assert evidence.declared["data_config"]["hidden_states"]["layer_ids"] == [1, 3, 5, 7]
    assert evidence.declared["stamp"] == {"contract": "toy-eagle3@1.0.0"}
    assert "sample_lengths.json disagrees with 1 files" in evidence.notes[-1]
    assert "data_1.pt has 25 rows, there 24" in evidence.notes[-1]


def test_a_neighbour_that_is_no_json_is_corrupt(tmp_path: Path) -> None:
    write_dataset("speculators-v1", tmp_path, make_samples(1))
    (tmp_path / "data_config.json").write_text("{", encoding="utf-8")
    (problem,) = read_evidence(tmp_path).problems
    assert (problem.kind, problem.where.file) == ("corrupt", "data_config.json")


@pytest.mark.parametrize(
    ("format_id", "key"),
    [
        ("speculators-v0", "input_ids"),
        ("speculators-v0", "loss_mask"),
        ("speculators-v1", "input_ids"),
        ("speculators-v1", "loss_mask"),
        ("modelopt", "input_ids"),
        ("specforge", "input_ids"),
        ("specforge", "loss_mask"),
    ],
)
def test_a_batch_axis_is_a_defect_where_the_loader_keeps_it(format_id: str, key: str, tmp_path: Path) -> None:
    (path, *_) = write_dataset(format_id, tmp_path, make_samples(1))
    record = torch.load(path, weights_only=True)
    record[key] = record[key][None]
    torch.save(record, path)
    (problem,) = read_evidence(f"{format_id}:{tmp_path}").problems
    assert problem.kind == "corrupt"
    assert "have shape [1, 20]" in problem.reason


@pytest.mark.parametrize(
    ("format_id", "key"),
    [("speculators-v0", "hidden_state"), ("speculators-v1", "hidden_states"), ("modelopt", "hidden_states")],
)
def test_a_batch_axis_on_states_is_one_as_well(format_id: str, key: str, tmp_path: Path) -> None:
    """Such states would be cut along their first axis: speculators then trains on nothing, in silence."""
    (path, *_) = write_dataset(format_id, tmp_path, make_samples(1))
    record = torch.load(path, weights_only=True)
    states = record[key]
    record[key] = [plane[None] for plane in states] if isinstance(states, list) else states[None]
    torch.save(record, path)
    (problem,) = read_evidence(f"{format_id}:{tmp_path}").problems
    assert problem.kind == "corrupt"
    assert f"{key} has shape [1, 20, " in problem.reason


def test_a_batch_axis_is_none_where_the_loader_may_drop_it(tmp_path: Path) -> None:
    (path, *_) = write_dataset("torchspec", tmp_path, make_samples(1))
    record = torch.load(path, weights_only=True)
    record["input_ids"] = record["input_ids"].reshape(1, -1)
    torch.save(record, path)
    assert read_evidence(f"torchspec:{tmp_path}").problems == ()


@pytest.mark.parametrize("key", ["input_ids", "loss_mask", "hidden_states", "target_hiddens"])
def test_a_batch_axis_is_missed_where_the_collator_counts_on_it(key: str, tmp_path: Path) -> None:
    """AngelSlim's collator unpacks ``B, n = intensors.shape``."""
    (path, *_) = write_dataset("angelslim", tmp_path, make_samples(1))
    record = torch.load(path, weights_only=True)
    record[key] = record[key][0]
    torch.save(record, path)
    (problem,) = read_evidence(f"angelslim:{tmp_path}").problems
    assert problem.kind == "corrupt"
    assert f"{key} has shape [20" in problem.reason
    assert "after one of length 1" in problem.reason
    assert problem.remedy == "store one sequence in a sample, with one axis of length 1 in front"


@pytest.mark.parametrize(("format_id", "key"), [("specforge", "aux_hidden_state"), ("specforge", "hidden_state")])
def test_a_second_batch_axis_stays_where_the_loader_drops_one(format_id: str, key: str, tmp_path: Path) -> None:
    """SpecForge's dataset squeezes once: max_len then cuts the batch axis, and its collator takes three axes."""
    (path, *_) = write_dataset(format_id, tmp_path, make_samples(1))
    record = torch.load(path, weights_only=True)
    assert record[key].ndim == 3
    record[key] = record[key][None]
    torch.save(record, path)
    (problem,) = read_evidence(f"{format_id}:{tmp_path}").problems
    assert problem.kind == "corrupt"
    assert f"{key} has shape [1, 1, 20, " in problem.reason
