"""Running a loader: what it gives is read at once, what it raises or says is kept, and the disk is watched."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from eagle3_contracts import Loader, StepZero
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import BAD, LoaderEvidence
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.loaders import gather
from eagle3_contracts.subjects.loaders.protocol import StoredSample
from eagle3_contracts.subjects.loaders.running import MOST_BATCHES

from .conftest import load_plain

Gather = Callable[..., LoaderEvidence]


def sound(evidence: LoaderEvidence) -> Any:
    return evidence.runs["sound"]


def test_every_row_of_a_plain_loader_is_placed(run_loader: Gather) -> None:
    rows = sound(run_loader(load_plain)).rows
    assert len(rows) == sum(length - 1 for length in (13, 9, 17, 6))
    assert rows.fed == 3
    assert (rows.sample >= 0).all()
    assert {tuple(row) for row in rows.plane} == {(0, 1, 2, 3)}
    assert (rows.position[:, -1] == rows.position[:, 0] + 1).all()


def test_only_scenarios_that_apply_are_run_and_the_others_say_why(run_loader: Gather) -> None:
    evidence = run_loader(load_plain)
    assert set(evidence.skipped) == {"overlong", "foreign", "missing"}
    assert set(evidence.runs) == {"sound", "nonfinite", "row-missing", "row-surplus", "corrupt"}
    limited = run_loader(load_plain, max_length=20)
    assert limited.runs["overlong"].samples[BAD].length > 20
    assert "overlong" in run_loader(load_plain, max_length=1 << 20).skipped


def test_a_buffer_that_is_used_again_is_read_in_time(run_loader: Gather) -> None:
    held: dict[str, torch.Tensor] = {}

    def read(folder: Path) -> Iterator[StepZero]:
        for batch in load_plain(folder):
            held["fc"] = held.get("fc", torch.zeros(32, 192, dtype=torch.bfloat16))
            held["fc"][: len(batch.fc_input)] = batch.fc_input
            yield StepZero(held["fc"][: len(batch.fc_input)], batch.tokens, batch.last_hidden, batch.mask)

    assert set(sound(run_loader(read)).rows.sample[:, 0]) == {0, 1, 2, 3}


def test_what_a_loader_raises_is_its_refusal_and_what_came_before_is_kept(run_loader: Gather) -> None:
    def read(folder: Path) -> Iterator[StepZero]:
        for number, batch in enumerate(load_plain(folder)):
            if not bool(batch.fc_input.isfinite().all()):
                raise ValueError(f"NaN in {folder}/data_{number}.pt")
            yield batch

    run = run_loader(read).runs["nonfinite"]
    assert run.refusal == "ValueError: NaN in DATASET/data_1.pt"
    assert set(run.rows.sample[:, 0]) == {0}


def test_nothing_more_is_run_after_a_sound_dataset_was_refused(run_loader: Gather) -> None:
    def read(_: Path) -> Iterator[StepZero]:
        raise SystemExit("no GPU")

    evidence = run_loader(read)
    assert list(evidence.runs) == ["sound"]
    assert sound(evidence).refusal == "SystemExit: no GPU"


def test_what_is_said_of_bad_samples_alone_is_a_report(run_loader: Gather) -> None:
    def read(folder: Path) -> Iterator[StepZero]:
        warnings.warn("an old API", DeprecationWarning, stacklevel=2)
        for number, batch in enumerate(load_plain(folder)):
            if bool(batch.fc_input.isfinite().all()):
                yield batch
                continue
            logging.getLogger("trainer").warning("sample %d is not finite", number)
            print(f"dropped {folder / 'data_1.pt'}")  # noqa: T201 - a loader that prints

    evidence = run_loader(read)
    assert evidence.runs["nonfinite"].reports == (
        "log: sample 1 is not finite",
        "printed: dropped DATASET/data_1.pt",
    )
    assert evidence.runs["row-surplus"].misfit is not None or not evidence.runs["row-surplus"].reports


def test_what_a_loader_counts_as_left_out_is_a_report(run_loader: Gather) -> None:
    def read(folder: Path) -> Iterator[StepZero]:
        batches = [batch for batch in load_plain(folder) if bool(batch.fc_input.isfinite().all())]
        for batch in batches:
            yield StepZero(batch.fc_input, batch.tokens, left_out=4 - len(batches))

    assert run_loader(read).runs["nonfinite"].reports == ("the loader counts 3 samples as left out",)


def test_a_loader_without_an_end_is_stopped(run_loader: Gather) -> None:
    def read(folder: Path) -> Iterator[StepZero]:
        while True:
            yield from load_plain(folder)

    run = sound(run_loader(read))
    assert run.stopped
    assert run.rows.batch.max() + 1 == MOST_BATCHES


def test_files_that_change_or_come_up_are_named(run_loader: Gather) -> None:
    def read(folder: Path) -> Iterator[StepZero]:
        (folder / "cache").mkdir()
        (folder / "cache" / "index.json").write_text("{}")
        (folder / "sample_lengths.json").unlink()
        torch.save({}, folder / "data_9.pt")
        torch.save(torch.load(folder / "data_0.pt", weights_only=True) | {"seen": 1}, folder / "data_0.pt")
        return iter(())

    run = sound(run_loader(read))
    assert run.changed == ("data_0.pt", "sample_lengths.json")
    assert run.added == ("cache/index.json", "data_9.pt")


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        (StepZero(torch.zeros(5, 100), torch.zeros(5)), "multiple of the hidden size, 64"),
        (StepZero(torch.zeros(5), torch.zeros(5)), "multiple of the hidden size, 64"),
        (StepZero(torch.zeros(5, 128), torch.zeros(4)), "tokens is [1, 4] beside an fc_input of 1 x 5 rows"),
        (StepZero(torch.zeros(2, 5, 128), torch.zeros(2, 5), torch.zeros(2, 5, 128)), "last_hidden is [2, 5, 128]"),
        (StepZero(torch.zeros(5, 128), torch.zeros(5), mask="all"), "mask is a str"),
        (StepZero("states", torch.zeros(5)), "a str came back where states were due"),
        ({"fc_input": torch.zeros(5, 128)}, "the loader gave a dict, no StepZero"),
    ],
    ids=["width", "one dimension", "tokens", "last hidden", "mask", "states", "a dict"],
)
def test_what_is_no_step_zero_is_told(batch: Any, told: str, run_loader: Gather) -> None:
    run = sound(run_loader(lambda _: [batch]))
    assert run.rows is None
    assert run.misfit is not None
    assert told in run.misfit.reason


def test_batches_that_do_not_go_together_are_told(run_loader: Gather) -> None:
    batches = [StepZero(torch.zeros(5, 128 + 64 * wide), torch.zeros(5)) for wide in (0, 1)]
    misfit = sound(run_loader(lambda _: batches)).misfit
    assert "batches differ" in misfit.reason


def test_sequences_of_a_batch_are_documents_of_their_own(run_loader: Gather) -> None:
    def read(_: Path) -> list[StepZero]:
        documents = torch.tensor([[0, 0, 1, -1], [0, 0, 0, -1]])
        one = StepZero(torch.zeros(2, 4, 192), torch.zeros(2, 4), mask=torch.ones(2, 4, 1), documents=documents)
        return [one, StepZero(torch.zeros(2, 4, 192), torch.zeros(2, 4), mask=torch.ones(2, 4, 1))]

    rows = sound(run_loader(read)).rows
    first = rows.documents[:8].tolist()
    assert (first[3], first[7]) == (-1, -1)
    assert len({first[0], first[2], first[4], *rows.documents[8:].tolist()}) == 5
    assert first[0] == first[1] != first[2]


def test_a_format_of_ones_own_comes_with_its_writer(contract: Contract) -> None:
    def write(folder: Path, samples: Any, dtype: str) -> list[Path]:
        assert dtype == "bfloat16"
        paths = []
        for number, sample in enumerate(samples):
            assert isinstance(sample, StoredSample)
            paths.append(folder / f"{number}.bin")
            torch.save({"x": torch.from_numpy(sample.planes), "ids": list(sample.tokens)}, paths[-1])
        return paths

    def read(folder: Path) -> Iterator[StepZero]:
        for path in sorted(folder.glob("*.bin")):
            record = torch.load(path, weights_only=True)
            yield StepZero(torch.cat(list(record["x"][:3]), -1), torch.tensor(record["ids"]))

    subject = Subject("loader", "x", "x", lambda _: Loader(read, "mine", write=write))
    evidence = gather(contract, subject, Options())
    assert set(sound(evidence).rows.sample[:, 0]) == {0, 1, 2, 3}
    assert evidence.runs["corrupt"].refusal
    unwritten = gather(contract, Subject("loader", "x", "x", lambda _: Loader(read, "mine")), Options())
    assert "write=function" in unwritten.problems[0].remedy


def test_a_width_that_cannot_carry_the_bits_is_told(contract: Contract) -> None:
    narrow = contract.model_copy(update={"target": contract.target.model_copy(update={"hidden_size": 16})})
    subject = Subject("loader", "x", "x", lambda _: Loader(load_plain, "speculators-v1"))
    assert "a hidden size of 16 cannot carry" in gather(narrow, subject, Options()).problems[0].reason
