"""speculators' real loaders against contracts: 0.9 as installed, 0.3 and 0.4 from their wheels.

Real: ArrowDataset, CollateFn, shift_batch; Eagle3SampleFileDataset, create_collate_fn, the standardize functions. The
story's contracts are scaled down, which no loader can see. Ours: which samples share a pack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from eagle3_contracts import Loader
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.loaders.protocol import Factory
from eagle3_contracts.subjects.loaders.speculators import open_sample_files, open_speculators_loader
from support.scaling import scale_down

pytestmark = pytest.mark.peer("speculators")

Data = Callable[[str], ModuleType]
INSTALLED, OLD = "0.9.0", ("0.3.0", "0.4.0")
KNOWN = {"loader.nonfinite", "loader.row-count", "loader.neighbours"}
"""What every version gets wrong: nothing is checked on the way from disk, and packs are joined part by part."""


def kimi(version: str) -> Contract:
    return scale_down(load_contract(f"kimi-k2.5-eagle3@{version}"))


@pytest.fixture
def data(
    unpack_wheel: Callable[[str, str], Path], import_from: Callable[..., ModuleType], peer: Callable[[str], ModuleType]
) -> Data:
    """Give ``speculators.train.data`` of a version: the installed one, or that of an unpacked wheel."""

    def load(version: str) -> ModuleType:
        name = "speculators.train.data"
        return peer(name) if version == INSTALLED else import_from(unpack_wheel("speculators", version), name)

    return load


def judge(contract: Contract, factory: Factory | str) -> dict[str, list[Finding]]:
    named = isinstance(factory, str)
    subject = Subject("loader", str(factory), "speculators", None if named else factory)  # type: ignore[arg-type]
    evidence = gather_evidence(contract, subject, Options())
    return {item.id: judge_clause(item, contract, evidence) for item in clauses_of("loader")}


def failed(found: dict[str, list[Finding]], level: Level = Level.MUST) -> set[str]:
    return {
        clause
        for clause, findings in found.items()
        for item in findings
        if item.verdict is Verdict.FAILED and item.level is level
    }


def test_the_stage_names_the_installed_loader(contract: Contract, data: Data) -> None:
    data(INSTALLED)
    found = judge(contract, "speculators")
    assert failed(found) == KNOWN
    assert not [item for items in found.values() for item in items if item.verdict is Verdict.ERRORED]
    assert found["loader.mask-shift"][0].observed == "mask of row t is l[t+1] in 41 rows"
    assert found["loader.position-shift"][0].observed == "position beside state t: t+1 in 41 of 41 rows"


@pytest.mark.parametrize("version", [INSTALLED, *OLD])
@pytest.mark.parametrize(("document", "wrong"), [("1.0.0", {"loader.fc-input"}), ("2.0.0", set()), ("3.0.0", set())])
def test_the_story(document: str, wrong: set[str], version: str, data: Data) -> None:
    """As it was served fails, as it was trained conforms; the version as it was meant stores what this loader needs."""
    found = judge(kimi(document), lambda contract: open_speculators_loader(contract, data(version)))
    assert failed(found) == wrong | KNOWN
    (wiring,) = found["loader.fc-input"]
    fed = {"1.0.0": "cat(embed, low, mid), boundaries 0, 3, 31", "2.0.0": "cat(embed, low, mid), boundaries 0, 3, 31"}
    assert wiring.observed == f"fc is fed {fed.get(document, 'cat(low, mid, high), boundaries 3, 31, 59')}"
    if wrong:
        assert wiring.expected == "cat(low, mid, high), boundaries 3, 31, 59"
        assert "served with boundaries 0, 3, 31" in wiring.hint


@pytest.mark.parametrize("version", [INSTALLED, *OLD])
def test_a_sample_one_row_short_moves_all_that_are_packed_after_it(
    version: str, data: Data, contract: Contract
) -> None:
    found = judge(contract, lambda asked: open_speculators_loader(asked, data(version)))
    short, surplus = found["loader.neighbours"]
    assert "first row of states is missing" in short.observed
    assert "trained rows of other samples get another token, state or sample" in short.observed
    assert "a row of states too many" in surplus.observed
    assert "is taken: " in found["loader.row-count"][0].observed


def test_only_0_9_compares_token_ids(data: Data, contract: Contract) -> None:
    data(INSTALLED)
    (compared,) = judge(contract, "speculators")["loader.stored-tokens"]
    assert compared.verdict is Verdict.PASSED
    assert "the loader counts 1 sample as left out" in compared.observed
    old = judge(contract, lambda _: open_sample_files(data("0.4.0")))
    assert old["loader.stored-tokens"][0].verdict is Verdict.SKIPPED


def test_files_that_cannot_be_read_or_are_not_there_raise(data: Data, contract: Contract) -> None:
    data(INSTALLED)
    (unreadable,) = judge(contract, "speculators")["loader.unreadable"]
    assert unreadable.verdict is Verdict.PASSED
    assert "SafetensorError" in unreadable.observed
    assert "Failed to load hidden states for sample 1" in unreadable.observed


def test_the_format_of_0_3_has_a_standardize_function_of_its_own(data: Data, contract: Contract) -> None:
    module = data("0.3.0")
    found = judge(contract, lambda _: open_sample_files(module, standardize_fn=module.standardize_data_v0))
    assert failed(found) == KNOWN
    assert found["loader.fc-input"][0].observed == "fc is fed cat(low, mid, high), boundaries 2, 4, 5"


def test_what_a_script_sets_is_what_is_checked(data: Data, contract: Contract) -> None:
    """A standardize function of the user's own, which feeds the planes in another order and shifts the mask."""
    module = data("0.4.0")

    def standardize(sample: dict[str, Any]) -> dict[str, Any]:
        low, mid, high, final = sample["hidden_states"]
        return {
            "hidden_states": torch.cat([high, mid, low], dim=-1),
            "input_ids": sample["input_ids"],
            "verifier_last_hidden_states": final,
            "loss_mask": torch.roll(sample["loss_mask"], -1),
        }

    found = judge(contract, lambda _: open_sample_files(module, standardize_fn=standardize))
    assert failed(found) >= {"loader.fc-input", "loader.mask-shift"}
    assert found["loader.fc-input"][0].observed.startswith("fc is fed cat(high, mid, low)")


def test_noise_that_training_adds_is_no_fault(data: Data, contract: Contract) -> None:
    module = data("0.4.0")
    noise = module.TransformTensors

    def factory(_: Contract) -> Loader:
        import importlib

        transforms = importlib.import_module("speculators.train.noise_transforms")
        assert issubclass(transforms.AddUniformNoise, noise)
        return open_sample_files(module, transform=transforms.AddUniformNoise(std=0.05))

    assert failed(judge(contract, factory)) == KNOWN


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Keep the real code's own warnings apart from this project's."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
