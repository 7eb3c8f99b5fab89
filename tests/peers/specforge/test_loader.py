"""SpecForge 0.2.0's real loaders against contracts: the dataset class, and the data plane that replaces it.

Real: OfflineEagle3Dataset, list_local_files, OfflineManifestReader, LocalFeatureStore, FeatureDataLoader, the collator,
``TargetHead.preprocess``. Ours: batches of two. The story's contracts are scaled down, which no loader can see.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from eagle3_contracts import Loader, StepZero
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.loaders.protocol import Factory
from support.scaling import scale_down

pytestmark = pytest.mark.peer("specforge")

BOTH = ("specforge", "specforge-data-plane")
KNOWN = {"loader.nonfinite", "loader.row-count"}
"""What both get wrong: nothing is checked on the way from disk, and what is missing is filled up with zeros."""


def judge(contract: Contract, factory: Factory | str) -> dict[str, list[Finding]]:
    named = isinstance(factory, str)
    subject = Subject("loader", str(factory), "specforge", None if named else factory)  # type: ignore[arg-type]
    evidence = gather_evidence(contract, subject, Options())
    return {item.id: judge_clause(item, contract, evidence) for item in clauses_of("loader")}


def failed(found: dict[str, list[Finding]], level: Level = Level.MUST) -> set[str]:
    return {
        clause
        for clause, findings in found.items()
        for item in findings
        if item.verdict is Verdict.FAILED and item.level is level
    }


@pytest.mark.parametrize("name", BOTH)
def test_a_sound_dataset_arrives_as_the_contract_says(name: str, contract: Contract) -> None:
    found = judge(contract, name)
    assert failed(found) - {"loader.unreadable"} == KNOWN
    assert not [item for items in found.values() for item in items if item.verdict is Verdict.ERRORED]
    assert found["loader.fc-input"][0].observed == "fc is fed cat(low, mid, high), boundaries 2, 4, 5"
    assert found["loader.last-hidden"][0].observed == "targets are computed from final_post (41 rows)"
    assert found["loader.mask-shift"][0].observed == "mask of row t is l[t] in 41 rows"
    assert found["loader.position-shift"][0].verdict is Verdict.SKIPPED
    assert found["loader.truncation"][0].observed.endswith("at most 32 taken, rows 0 to 31 are kept")


@pytest.mark.parametrize("name", BOTH)
def test_the_story(name: str) -> None:
    """Stored as the story's files were, what reaches fc is the same as with speculators."""
    served, trained = (
        judge(scale_down(load_contract(f"kimi-k2.5-eagle3@{version}")), name) for version in ("1.0.0", "2.0.0")
    )
    assert served["loader.fc-input"][0].observed == "fc is fed cat(embed, low, mid), boundaries 0, 3, 31"
    assert "loader.fc-input" in failed(served)
    assert failed(trained) - {"loader.unreadable"} == KNOWN


def test_a_corrupt_file_is_replaced_by_the_first_sample_with_a_line_printed(contract: Contract) -> None:
    (replaced,) = judge(contract, "specforge")["loader.unreadable"]
    assert replaced.verdict is Verdict.FAILED
    assert "is replaced: 13 rows of sample 0 come once more in its place" in replaced.observed
    assert "printed: ERROR Failed to load DATASET/rows_0-2000/data_1.ckpt" in replaced.observed


def test_the_data_plane_refuses_a_corrupt_file(contract: Contract) -> None:
    (refused,) = judge(contract, "specforge-data-plane")["loader.unreadable"]
    assert refused.verdict is Verdict.PASSED
    assert "is refused: RuntimeError: PytorchStreamReader" in refused.observed


@pytest.mark.parametrize("name", BOTH)
def test_rows_that_are_missing_are_filled_up_with_zeros_in_silence(name: str, contract: Contract) -> None:
    found = judge(contract, name)
    missing, surplus = found["loader.row-count"]
    assert missing.level is Level.MUST
    assert "first row of states is missing is taken: " in missing.observed
    assert surplus.level is Level.SHOULD
    assert "taken without a word" in surplus.observed
    assert found["loader.neighbours"][0].verdict is Verdict.PASSED


def test_the_mapped_mask_that_is_written_to_never_reaches_the_disk(contract: Contract) -> None:
    (untouched,) = judge(contract, "specforge")["loader.read-only"]
    assert untouched.verdict is Verdict.PASSED


def test_a_head_that_is_left_out_leaves_tokens_and_states_unshifted(contract: Contract) -> None:
    """The dataset class of 0.2.0 in a script that was written for 0.1.0, which shifted by itself."""
    preprocessing = import_module("specforge.data.preprocessing")

    def read(folder: Path) -> Iterator[StepZero]:
        for item in preprocessing.OfflineEagle3Dataset(preprocessing.list_local_files(str(folder)), max_len=32):
            yield StepZero(item["hidden_state"], item["input_ids"], item["target"], item["loss_mask"])

    found = judge(contract, lambda _: Loader(read, "specforge", 32))
    assert failed(found) >= {"loader.token-shift", "loader.target-shift"}
    assert found["loader.token-shift"][0].observed.startswith("token beside state t: x[t] in 41 of 41 rows")


def test_the_mask_of_0_2_counts_no_row_that_the_shift_leaves_empty(contract: Contract) -> None:
    (padding,) = judge(contract, "specforge")["loader.padding"]
    assert padding.verdict is Verdict.PASSED
    assert "4 at the end of a sample" in padding.observed
