"""What is made under any contract conforms to it, and not to one that says something else; two faults never conform."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.faults import faults_of
from eagle3_contracts.faults.injecting.checkpoints import prepare_export
from eagle3_contracts.faults.injecting.exports import Export, mark_ids
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.loaders.protocol import Loader
from eagle3_contracts.subjects.loaders.reference import make_reference_loader
from support.formats import write_dataset
from support.museum.combining import can_be_combined, judge_pair
from support.museum.conventions import LAYERS, capture_samples, change_contract, declare_planes
from support.museum.exhibits import judge_subject, sum_up, tell
from support.museum.good import assert_good

FEW = settings(max_examples=max(8, settings().max_examples // 6))
"""Each example runs the embedded target: a few of them by default, more with the profile ``nightly``."""

BASE = load_contract(CONTRACT)
VOCABULARY = BASE.target.vocab_size


@dataclasses.dataclass(frozen=True)
class Wiring:
    """Boundaries on disk, in order; the places of those that are fed; the final state's norm state; the dtype."""

    boundaries: tuple[int, ...]
    fed: tuple[int, ...]
    last: str
    dtype: str

    def declare(self) -> Contract:
        """Give the contract that says so."""
        return change_contract(BASE, declare_planes(self.boundaries, fed=self.fed, last=self.last, dtype=self.dtype))


@st.composite
def wirings(draw: st.DrawFn) -> Wiring:
    """Draw two to five planes in any order, the final one among them, and some of the others as input."""
    others = draw(st.lists(st.integers(0, LAYERS - 1), min_size=1, max_size=4, unique=True))
    boundaries = draw(st.permutations([*others, LAYERS]))
    places = [place for place, boundary in enumerate(boundaries) if boundary != LAYERS]
    fed = draw(st.lists(st.sampled_from(places), min_size=1, max_size=len(places), unique=True))
    last = draw(st.sampled_from(["pre_norm", "post_norm"]))
    return Wiring(tuple(boundaries), tuple(fed), last, draw(st.sampled_from(["bfloat16", "float16", "float32"])))


@st.composite
def texts(draw: st.DrawFn) -> list[list[int]]:
    """Draw samples of different lengths, single tokens too, with tokens enough for a median and words that recur."""
    seed = draw(st.integers(0, 2**16))
    lengths = draw(st.lists(st.integers(1, 90), min_size=0, max_size=3))
    chance = np.random.default_rng(seed)
    return [chance.integers(2, 60, length).tolist() for length in (110, 70, *lengths)]


def _judge_dataset(contract: Contract, made_under: Contract, sequences: list[list[int]]) -> list[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        samples = capture_samples(made_under, texts=sequences)
        write_dataset("speculators-v1", Path(folder), samples, made_under.stored_dtype())
        return judge_subject(contract, Subject("dataset", folder, "drawn"))


def _violations(findings: list[Finding]) -> set[str]:
    return {item.clause for item in findings if item.verdict == Verdict.FAILED and item.level == Level.MUST}


@FEW
@given(wirings(), texts())
def test_a_dataset_conforms_to_the_contract_that_it_was_made_under(wiring: Wiring, sequences: list[list[int]]) -> None:
    contract = wiring.declare()
    assert_good(_judge_dataset(contract, contract, sequences), "dataset.boundary", "dataset.order", "dataset.dtype")


def _move_a_plane(wiring: Wiring) -> Wiring:
    free = next(boundary for boundary in range(LAYERS) if boundary not in wiring.boundaries)
    place = next(place for place, boundary in enumerate(wiring.boundaries) if boundary != LAYERS)
    moved = tuple(free if at == place else boundary for at, boundary in enumerate(wiring.boundaries))
    return dataclasses.replace(wiring, boundaries=moved)


def _swap_planes(wiring: Wiring) -> Wiring:
    first, second, *rest = wiring.boundaries
    fed = tuple({0: 1, 1: 0}.get(place, place) for place in wiring.fed)
    return dataclasses.replace(wiring, boundaries=(second, first, *rest), fed=fed)


def _norm_otherwise(wiring: Wiring) -> Wiring:
    return dataclasses.replace(wiring, last={"pre_norm": "post_norm", "post_norm": "pre_norm"}[wiring.last])


def _store_otherwise(wiring: Wiring) -> Wiring:
    return dataclasses.replace(wiring, dtype={"float32": "bfloat16"}.get(wiring.dtype, "float32"))


OTHERWISE: dict[str, Callable[[Wiring], Wiring]] = {
    "another boundary": _move_a_plane,
    "another order": _swap_planes,
    "another norm state": _norm_otherwise,
    "another dtype": _store_otherwise,
}


@pytest.mark.parametrize("name", OTHERWISE)
@FEW
@given(wirings(), texts())
def test_it_violates_a_contract_that_says_something_else(name: str, wiring: Wiring, sequences: list[list[int]]) -> None:
    found = _judge_dataset(OTHERWISE[name](wiring).declare(), wiring.declare(), sequences)
    assert _violations(found), tell(found)


def _judge_loader(contract: Contract, fed: tuple[str, ...]) -> list[Finding]:
    def factory(asked: Contract) -> Loader:
        return dataclasses.replace(make_reference_loader(asked, "speculators-v1"), fed=fed).as_subject()

    return judge_subject(contract, Subject("loader", "drawn:factory", "drawn", factory))


@FEW
@given(wirings(), st.data())
def test_a_loader_conforms_to_its_own_order_and_to_no_other(wiring: Wiring, data: st.DataObject) -> None:
    contract = wiring.declare()
    assert_good(_judge_loader(contract, contract.drafter.input), "loader.fc-input", "loader.last-hidden")
    other = data.draw(st.permutations(contract.drafter.input).map(tuple))
    assume(other != contract.drafter.input)
    assert "loader.fc-input" in _violations(_judge_loader(contract, other))


@st.composite
def maps(draw: st.DrawFn) -> list[int]:
    """Draw a draft vocabulary: 160 target ids in order, the ends of text among them, not the first ones."""
    seed = draw(st.integers(0, 2**16))
    rest = np.random.default_rng(seed).permutation(np.arange(2, VOCABULARY))[: BASE.drafter.draft_vocab_size - 2]
    return [0, 1, *sorted(rest.tolist())]


def _map(export: Export, ids: list[int]) -> None:
    import torch

    export.tensors["d2t"] = torch.tensor(ids) - torch.arange(len(ids))
    export.tensors["t2d"] = mark_ids(export.contract, export.tensors["d2t"])


@FEW
@given(maps(), st.integers(0, BASE.drafter.draft_vocab_size - 1), st.sampled_from(["d2t", "t2d"]))
def test_any_draft_vocabulary_conforms_until_one_entry_of_a_map_is_changed(ids: list[int], at: int, name: str) -> None:
    def judge(edit: Callable[[Any], None]) -> list[Finding]:
        with tempfile.TemporaryDirectory() as folder:
            contract, export = prepare_export(BASE, Path(folder), "specforge")
            _map(export, ids)
            edit(export.tensors)
            return judge_subject(contract, Subject("checkpoint", str(export.write()), "drawn"))

    def change(tensors: Any) -> None:
        if name == "t2d":
            tensors["t2d"][ids[at]] = False
        else:
            tensors["d2t"][at] += 1

    assert_good(judge(lambda _: None), "checkpoint.d2t-ids", "checkpoint.t2d-agrees", "checkpoint.draft-vocabulary")
    assert _violations(judge(change)) & {"checkpoint.t2d-agrees", "checkpoint.d2t-ids"}


@pytest.mark.parametrize("stage", ["contract", "dataset", "loader", "checkpoint", "launch", "golden"])
@FEW
@given(st.data())
def test_two_faults_at_once_never_conform(stage: str, data: st.DataObject) -> None:
    """At least one of the two named clauses fails, even where one fault hides the other or takes it away."""
    first, second = data.draw(st.permutations(faults_of(stage)).map(lambda drawn: drawn[:2]))
    assume(can_be_combined(first, second))
    with tempfile.TemporaryDirectory() as folder:
        try:
            findings = judge_pair(first, second, BASE, Path(folder) / "faulty")
        except (ValueError, KeyError):  # what the second one changes is no longer there
            assume(False)  # noqa: FBT003
    verdicts = sum_up(findings)
    assert Verdict.FAILED in {verdicts[first.clause], verdicts[second.clause]}, tell(findings)
