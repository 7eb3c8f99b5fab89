"""Loaders that are nearly right, or leave the process changed: each is told for what it is, none is a traceback."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from eagle3_contracts import Loader, StepZero
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import LoaderEvidence
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.loaders import gather

from .conftest import load_plain

Gather = Callable[..., LoaderEvidence]


def step(rows: int = 5, **fields: Any) -> StepZero:
    return replace(StepZero(torch.zeros(rows, 192), torch.zeros(rows)), **fields)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"read": None}, "read of type NoneType, which cannot be called"),
        ({"format": ["specforge"]}, "of type list, no name of a format"),
        ({"max_length": "64"}, "max_length '64', no number of rows"),
        ({"max_length": 64.0}, "max_length 64.0"),
        ({"max_length": 0}, "max_length 0"),
        ({"max_length": True}, "max_length True"),
        ({"write": "a function"}, "write of type str, which cannot be called"),
    ],
)
def test_a_field_of_another_kind_is_refused(fields: dict[str, Any], told: str, contract: Contract) -> None:
    loader = replace(Loader(load_plain, "speculators-v1"), **fields)
    with pytest.raises(SubjectError) as caught:
        gather(contract, Subject("loader", "a.py:factory", "mine", lambda _: loader), Options())
    assert told in caught.value.reason


def _raise(*_: Any) -> Any:
    raise OSError("disk full")


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (_raise, "the loader's writer raised OSError: disk full"),
        (lambda *_: None, "the loader's writer raised TypeError"),
        (lambda folder, *_: [folder / "data_0.pt"] * 4, "gave 0 files that are there for 4 samples"),
    ],
)
def test_a_writer_that_writes_nothing_is_the_code_under_test(
    write: Callable[..., Any], told: str, run_loader: Gather
) -> None:
    (problem,) = run_loader(load_plain, "mine", write=write).problems
    assert problem.kind == "crashed"
    assert told in problem.reason


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        (step(tokens=torch.full((5,), float("nan"))), "tokens holds NaN or infinite values"),
        (step(tokens=torch.full((5,), 0.5)), "tokens holds fractions"),
        (step(mask=torch.full((5,), float("nan"))), "mask holds NaN"),
        (step(documents="one"), "documents is a str"),
        (step(vocabulary="all"), "vocabulary is a str"),
        (step(vocabulary=torch.ones(3, 3)), "vocabulary is [3, 3]"),
        (step(left_out="3"), "left_out is '3'"),
        (step(left_out=-1), "left_out is '-1'"),
    ],
)
def test_parts_of_another_kind_are_not_taken_for_something_that_the_loader_raised(
    batch: StepZero, told: str, run_loader: Gather
) -> None:
    run = run_loader(lambda _: [batch]).runs["sound"]
    assert not run.refusal
    assert run.misfit is not None
    assert told in run.misfit.reason


def test_weights_of_a_mask_count_from_the_first(run_loader: Gather) -> None:
    weights = torch.tensor([0, 0.25, 0.5, 1, 0]).bfloat16()
    assert run_loader(lambda _: [step(mask=weights)]).runs["sound"].rows.trained.tolist() == [False, *[True] * 3, False]


def test_a_batch_without_rows_adds_none(run_loader: Gather) -> None:
    run = run_loader(lambda folder: [step(0), *load_plain(folder)]).runs["sound"]
    assert not run.refusal
    assert len(run.rows) == sum(length - 1 for length in (13, 9, 17, 6))


def test_a_loader_that_closes_its_output_or_logs_badly_is_read_on(
    run_loader: Gather, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's own raise for what logging passes over

    def read(folder: Path) -> Iterator[StepZero]:
        logging.getLogger("trainer").warning("sample %d", "one")
        print("closing")  # noqa: T201 - a loader that prints
        sys.stdout.close()
        yield from load_plain(folder)

    run = run_loader(read).runs["sound"]
    assert not run.refusal
    assert run.reports == ("log: sample %d", "printed: closing")
    assert not sys.stdout.closed


def test_what_a_loader_changes_of_the_process_is_put_back(run_loader: Gather) -> None:
    def read(folder: Path) -> Iterator[StepZero]:
        os.chdir(folder)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        yield from load_plain(folder)

    before = (Path.cwd(), torch.get_default_dtype(), torch.is_grad_enabled())
    run_loader(read)
    assert (Path.cwd(), torch.get_default_dtype(), torch.is_grad_enabled()) == before


@pytest.mark.parametrize("clause", ["packing", "padding", "coverage", "truncation"])
def test_rows_that_none_can_place_pass_no_clause_on_packs(clause: str, run_loader: Gather, contract: Contract) -> None:
    evidence = run_loader(lambda _: [step(40, mask=torch.ones(40))], max_length=20)
    (found,) = [item for item in clauses_of("loader") if item.id == f"loader.{clause}"]
    (finding,) = judge_clause(found, contract, evidence)
    assert finding.verdict is Verdict.ERRORED
    assert "no row could be placed" in finding.observed
