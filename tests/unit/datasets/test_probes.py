"""Samples held against the target: comparison, strangers and whose states they hold, what stands in the way."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, NAME, VERSION, golden_root
from eagle3_contracts.evidence import DatasetEvidence
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets import probing
from eagle3_contracts.subjects.targets import open_target
from support.datasets import kinds, read_evidence
from support.formats import GoodSample, write_dataset
from support.judging.documents import toy_contract

GOLDEN = golden_root() / NAME / VERSION
TARGET = GOLDEN / "target"


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture(scope="module")
def samples(contract: Contract) -> list[GoodSample]:
    """Six samples of random tokens, of one length, with the target's own states at the declared boundaries."""
    target = open_target(str(TARGET), contract)
    made = []
    for seed in range(6):
        ids = np.random.default_rng(seed).integers(0, 256, 80)
        states = target.reference(ids).boundaries[[2, 4, 5, 8]]
        made.append(GoodSample(tuple(int(token) for token in ids), states, tuple(int(at > 9) for at in range(80))))
    return made


def _read(path: Path | str, contract: Contract, **options: int) -> DatasetEvidence:
    return read_evidence(path, contract, target=str(TARGET), **options)


def _with_states(own: GoodSample, states: GoodSample) -> GoodSample:
    return GoodSample(own.token_ids, states.planes, own.mask)


@pytest.mark.parametrize("name", ["speculators-v1", "specforge", "vllm-connector"])
def test_the_embedded_datasets_hold_their_own_states(name: str, contract: Contract) -> None:
    evidence = _read(GOLDEN / "datasets" / name, contract)
    assert (evidence.problems, evidence.strangers, evidence.recaptured) == ((), (), 4)
    assert evidence.comparison is not None
    assert evidence.comparison.states is not None
    assert evidence.comparison.states.median[2].min(axis=-1).max() < 0.03


def test_two_swapped_files_are_each_others(samples: list[GoodSample], contract: Contract, tmp_path: Path) -> None:
    mixed = [*samples[:4]]
    mixed[1], mixed[3] = _with_states(samples[1], samples[3]), _with_states(samples[3], samples[1])
    write_dataset("speculators-v1", tmp_path, mixed)
    evidence = _read(tmp_path, contract)
    assert [(one.where.file, one.match) for one in evidence.strangers] == [
        ("data_1.pt", Where(file="data_3.pt")),
        ("data_3.pt", Where(file="data_1.pt")),
    ]
    assert all(one.distance > probing.STRANGE for one in evidence.strangers)


def test_states_of_a_sample_that_is_no_probe_are_nobodys(
    samples: list[GoodSample], contract: Contract, tmp_path: Path
) -> None:
    write_dataset("speculators-v1", tmp_path, [samples[0], samples[1], _with_states(samples[2], samples[5])])
    (stranger,) = _read(tmp_path, contract).strangers
    assert (stranger.where.file, stranger.match) == ("data_2.pt", None)


def test_a_shared_beginning_does_not_hide_a_swap(samples: list[GoodSample], contract: Contract, tmp_path: Path) -> None:
    """A system prompt of more than half of each sample: the median over all rows would be zero."""
    target = open_target(str(TARGET), contract)
    shared = samples[0].token_ids[:50]
    prompted = []
    for one in samples[:3]:
        ids = np.asarray((*shared, *one.token_ids[50:]))
        states = target.reference(ids).boundaries[[2, 4, 5, 8]]
        prompted.append(GoodSample(tuple(int(token) for token in ids), states, one.mask))
    swapped = [_with_states(prompted[0], prompted[1]), _with_states(prompted[1], prompted[0]), prompted[2]]
    write_dataset("speculators-v1", tmp_path, swapped)
    assert [one.match.file for one in _read(tmp_path, contract).strangers if one.match] == ["data_1.pt", "data_0.pt"]


def test_other_boundaries_and_shifted_rows_are_no_strangers(
    samples: list[GoodSample], contract: Contract, tmp_path: Path
) -> None:
    """Wrong planes of the right sample are the boundary's and the shift's clauses' matter."""
    one, two, three = samples[:3]
    embedding = open_target(str(TARGET), contract).reference(np.asarray(three.token_ids)).boundaries[[0, 1, 6, 7]]
    shifted = GoodSample(one.token_ids, np.roll(one.planes, 1, axis=1), one.mask)
    write_dataset("speculators-v1", tmp_path, [shifted, two, GoodSample(three.token_ids, embedding, three.mask)])
    assert _read(tmp_path, contract).strangers == ()


def test_a_row_too_few_is_compared_as_far_as_it_goes(
    samples: list[GoodSample], contract: Contract, tmp_path: Path
) -> None:
    short = GoodSample(samples[0].token_ids, samples[0].planes[:, :-1], samples[0].mask)
    write_dataset("speculators-v1", tmp_path, [short, samples[1]])
    evidence = _read(tmp_path, contract)
    assert (evidence.recaptured, evidence.strangers) == (2, ())


def test_so_many_probes_as_asked_for_long_ones_first(
    samples: list[GoodSample], contract: Contract, tmp_path: Path
) -> None:
    short = GoodSample(samples[0].token_ids[:10], samples[0].planes[:, :10], samples[0].mask[:10])
    write_dataset("tensorrt-llm", tmp_path, [short, samples[1], samples[2], short])
    evidence = _read(tmp_path, contract, probes=2)
    assert evidence.recaptured == 2
    assert evidence.comparison is not None
    assert evidence.comparison.tokens == 160


def test_only_the_beginning_of_a_long_sample_is_computed(
    samples: list[GoodSample], contract: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "PROBE_TOKENS", 30)
    write_dataset("speculators-v1", tmp_path, samples[:2])
    comparison = _read(tmp_path, contract).comparison
    assert comparison is not None
    assert comparison.tokens == 60


def test_each_probe_is_run_once(
    samples: list[GoodSample], contract: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eagle3_contracts.subjects.targets.native import LlamaTarget

    seen: list[int] = []
    run = LlamaTarget.reference

    def counted(self: LlamaTarget, token_ids: object) -> object:
        seen.append(1)
        return run(self, token_ids)  # type: ignore[arg-type]

    monkeypatch.setattr(LlamaTarget, "reference", counted)
    write_dataset("speculators-v1", tmp_path, samples[:4])
    assert _read(tmp_path, contract).recaptured == 4
    assert len(seen) == 4


def test_a_part_of_the_target_recaptures_nothing(samples: list[GoodSample], contract: Contract, tmp_path: Path) -> None:
    weights = load_file(TARGET / "model.safetensors")
    save_file({"model.norm.weight": weights["model.norm.weight"]}, tmp_path / "norm.safetensors")
    write_dataset("speculators-v1", tmp_path / "data", samples[:2])
    evidence = read_evidence(tmp_path / "data", contract, target=str(tmp_path / "norm.safetensors"))
    assert evidence.comparison is not None
    assert evidence.comparison.norm_vector_rms is not None
    assert (evidence.comparison.states, evidence.recaptured, evidence.strangers) == (None, 0, ())


def test_a_target_that_cannot_be_opened_is_a_problem(
    samples: list[GoodSample], contract: Contract, tmp_path: Path
) -> None:
    write_dataset("speculators-v1", tmp_path / "data", samples[:1])
    evidence = read_evidence(tmp_path / "data", contract, target=str(tmp_path / "nowhere"))
    assert kinds(evidence) == ["target"]
    assert (evidence.comparison, evidence.samples) == (None, 1)
    assert "does not exist" in evidence.problems[0].reason


def test_a_target_for_another_contract_is_a_problem(tmp_path: Path) -> None:
    from support.formats import make_samples

    write_dataset("speculators-v1", tmp_path, make_samples(1, hidden=8))
    assert kinds(read_evidence(tmp_path, toy_contract(), target=str(TARGET))) == ["target"]


def test_headers_hold_nothing_against_the_target_and_say_so(contract: Contract) -> None:
    evidence = read_evidence(GOLDEN / "datasets" / "specforge", contract, target=str(TARGET), scan="headers")
    assert kinds(evidence) == ["target"]
    assert "headers alone" in evidence.problems[0].reason


def test_8_bit_states_without_scales_are_not_compared(
    samples: list[GoodSample], contract: Contract, tmp_path: Path
) -> None:
    for path in write_dataset("hs-connectors-fp8", tmp_path, samples[:2]):
        record = load_file(path)
        del record["hidden_states_scales"]
        save_file(record, path)
    evidence = _read(tmp_path, contract)
    assert kinds(evidence) == ["target"]
    assert "without their scales" in evidence.problems[0].reason


@pytest.mark.parametrize("fault", ["ids", "float ids", "widths"])
def test_samples_that_cannot_be_computed_again_are_no_probes(
    fault: str, samples: list[GoodSample], contract: Contract, tmp_path: Path
) -> None:
    (path,) = write_dataset("speculators-v1", tmp_path, samples[:1])
    record = torch.load(path)
    if fault == "ids":
        record["input_ids"][3] = 256
    elif fault == "float ids":
        record["input_ids"] = record["input_ids"].float()
    else:
        record["hidden_states"][1] = record["hidden_states"][1][:, :32].clone()
    torch.save(record, path)
    evidence = _read(tmp_path, contract)
    assert "target" in kinds(evidence)
    assert (evidence.comparison, evidence.recaptured) == (None, 0)


def test_probing_leaves_the_target_as_it_was(contract: Contract, tmp_path: Path) -> None:
    from support.datasets import digest_tree

    copy = tmp_path / "target"
    shutil.copytree(TARGET, copy)
    before = digest_tree(copy)
    read_evidence(GOLDEN / "datasets" / "specforge", contract, target=str(copy))
    assert digest_tree(copy) == before


def test_more_probes_find_a_swap_that_four_do_not_reach(
    samples: list[GoodSample], contract: Contract, tmp_path: Path
) -> None:
    found = []
    for first in range(5):
        mixed = [*samples]
        mixed[first] = _with_states(samples[first], samples[5])
        mixed[5] = _with_states(samples[5], samples[first])
        write_dataset("speculators-v1", tmp_path / str(first), mixed)
        evidence = [_read(tmp_path / str(first), contract, probes=count) for count in (4, 6)]
        assert [item.recaptured for item in evidence] == [4, 6]
        assert len(evidence[1].strangers) == 2
        found.append(len(evidence[0].strangers))
    assert min(found) < 2, "four probes reach both files of every swap: the test shows nothing"
