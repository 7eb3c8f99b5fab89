"""No false alarm: captures and datasets that keep to what is declared violate no must, whatever is declared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.formats import HABITS
from eagle3_contracts.run import DOCUMENT
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.captures.embedded import open_embedded_capture
from support.formats import ALL_WRITERS, write_dataset
from support.museum.conventions import CONVENTIONS, capture_samples, change_contract, store_in
from support.museum.exhibits import judge_subject
from support.museum.good import assert_good

LONGEST = 2048


PLACED = [f"dataset.{name}" for name in ("boundary", "order", "token-shift", "identity", "rows", "dtype")]


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_convention_that_is_declared_and_kept_to_is_good(name: str, contract: Contract, tmp_path: Path) -> None:
    declared = change_contract(contract, CONVENTIONS[name])
    assert_good(judge_subject(declared, DOCUMENT))
    capture = open_embedded_capture(declared)
    assert_good(judge_subject(declared, Subject("capture", "good:capture", name, capture)), "capture.boundary")
    write_dataset("speculators-v1", tmp_path, capture_samples(declared), declared.stored_dtype())
    assert_good(judge_subject(declared, Subject("dataset", str(tmp_path), name)), *PLACED)


@pytest.mark.parametrize("name", ALL_WRITERS)
def test_every_format_is_good(name: str, contract: Contract, tmp_path: Path) -> None:
    """ModelOpt's script keeps the normed state and does not say so; TorchSpec's replay says that its own is not."""
    dataset_format, write = ALL_WRITERS[name]
    habits = {known: habit.final_state for known, habit in HABITS.items()} | {"modelopt": "post_norm"}
    declared = change_contract(contract, store_in(dataset_format, habits[dataset_format]))
    write(tmp_path, capture_samples(declared, dataset_format))
    assert_good(judge_subject(declared, Subject("dataset", str(tmp_path), name)), *PLACED)


def _texts(contract: Contract) -> list[list[int]]:
    return [list(sample.token_ids) for sample in capture_samples(contract)]


ODD_LENGTHS: dict[str, Callable[[list[list[int]]], list[list[int]]]] = {
    "single tokens among others": lambda texts: [*texts, texts[0][:1], texts[1][:1][::-1], texts[2][5:6]],
    "two tokens among others": lambda texts: [*texts, texts[0][:2]],
    "one sample alone": lambda texts: [[*texts[0], *texts[1]]],
    "as long as the drafter's positions": lambda texts: [
        *texts,
        [token for text in (texts * 64) for token in text][:LONGEST],
    ],
    "an odd number of tokens": lambda texts: [text[: 17 + 2 * place] for place, text in enumerate(texts * 2)][1:5],
}


@pytest.mark.parametrize("name", ODD_LENGTHS)
def test_samples_of_any_length_are_good(name: str, contract: Contract, tmp_path: Path) -> None:
    samples = capture_samples(contract, texts=ODD_LENGTHS[name](_texts(contract)))
    write_dataset("speculators-v1", tmp_path, samples)
    assert_good(judge_subject(contract, Subject("dataset", str(tmp_path), name)), "dataset.boundary", "dataset.rows")
