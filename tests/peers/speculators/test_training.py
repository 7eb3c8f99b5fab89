"""speculators 0.9.0 trains on the CPU: recorded states through its loader, trainer and checkpointer to our clauses.

Real: ArrowDataset, CollateFn, shift_batch, build_vocab_mappings_from_distribution, Eagle3DraftModel, Trainer with its
optimizer, SingleGPUCheckpointer. Stand-in: the accelerator, which the Trainer takes for granted - its device is the
CPU, and there is nothing to wait for. The loss is the eager one, since the fused one is written in Triton.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.loaders.speculators import MAX_LENGTH, load_packs
from support.recordings import declared_wiring, judge, make_samples, unchecked, unrecorded, violated, write_dataset

pytestmark = pytest.mark.peer("speculators")

Peer = Callable[[str], ModuleType]
FORMAT, ROWS, EPOCHS = "speculators-arrow", 256, 8
VLLM = {"vllm": ">=0.25,<=0.33.0"}
FROZEN = {"embed_tokens.weight", "lm_head.weight", "verifier_lm_head.weight", "verifier_norm.weight", "d2t", "t2d"}
"""What 0.9 does not train: the embedding and the head are the target's rows."""


@dataclass(frozen=True)
class Run:
    """What a run left behind: the loss of each step, tensors before and after, the folder of its checkpoint."""

    losses: list[float]
    before: dict[str, Tensor]
    after: dict[str, Tensor]
    folder: Path


class Losses(logging.Handler):
    """Collects the losses that the trainer reports of its steps."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.values: list[float] = []

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.msg, dict) and "train" in record.msg:
            self.values.append(record.msg["train"]["loss"])


@pytest.fixture(scope="module")
def wired(contract: Contract) -> Contract:
    """The embedded contract for a drafter of speculators: its head is the target's rows."""
    return unrecorded(contract, VLLM, lm_head="target_rows")


@pytest.fixture(scope="module")
def data(contract: Contract, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "arrow"
    write_dataset(folder, FORMAT, make_samples(declared_wiring(contract, FORMAT)), "bfloat16")
    return folder


@pytest.fixture(scope="module")
def train(
    peer: Peer,
    make_drafter: Callable[..., Any],
    contract: Contract,
    data: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., Run]]:
    trainer = peer("speculators.train.trainer")
    metrics, losses = logging.getLogger("speculators.metrics"), Losses()
    level = metrics.level
    metrics.addHandler(losses)
    metrics.setLevel(logging.INFO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "get_local_rank", lambda: "cpu")
        patch.setattr(torch.accelerator, "synchronize", lambda: None)

        rows = peer("datasets").load_from_disk(str(data))["input_ids"]

        def run(epochs: int = 1, *, preprocess: bool = True, **options: Any) -> Run:
            losses.values = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = make_drafter(contract, rows, **options)
                before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
                save = tmp_path_factory.mktemp("run") / "checkpoints"
                config = _configure(peer, trainer, save, epochs)
                loader = _open(peer, contract, data, preprocess=preprocess)
                trainer.Trainer(model, config, loader).run_training()
            return Run(losses.values, before, model.state_dict(), save / str(epochs - 1))

        yield run
    metrics.removeHandler(losses)
    metrics.setLevel(level)


@pytest.fixture(scope="module")
def trained(train: Callable[..., Run]) -> Run:
    return train(EPOCHS)


def test_the_data_that_it_trains_on_passes_every_clause(data: Path, contract: Contract) -> None:
    findings = judge(contract, "dataset", data, FORMAT)
    assert violated(findings) == unchecked(findings) == set()


def test_the_loss_falls_and_all_that_is_trained_moves(trained: Run) -> None:
    assert len(trained.losses) == EPOCHS
    assert all(later < earlier for earlier, later in zip(trained.losses, trained.losses[1:], strict=False))
    assert trained.losses[-1] < 0.6 * trained.losses[0]
    moved = {name for name, tensor in trained.after.items() if not torch.equal(tensor, trained.before[name])}
    assert moved == set(trained.after) - FROZEN


def test_what_it_saves_is_what_it_trained_in_bfloat16(trained: Run) -> None:
    saved = load_file(trained.folder / "model.safetensors")
    assert set(saved) == set(trained.after) - {"verifier_lm_head.weight", "verifier_norm.weight"}
    for name, tensor in saved.items():
        kept = trained.after[name]
        assert torch.equal(tensor, kept.bfloat16() if kept.is_floating_point() else kept), name


def test_what_it_saves_violates_no_clause(trained: Run, wired: Contract) -> None:
    findings = judge(wired, "checkpoint", trained.folder, "speculators")
    assert violated(findings) == unchecked(findings) == set(), findings
    passed = {item.clause for item in findings if item.verdict is Verdict.PASSED}
    assert passed >= {"checkpoint.taps", "checkpoint.embedding", "checkpoint.dead-tensors", "checkpoint.norm-flags"}


def test_its_own_loader_reads_the_checkpoint_back(trained: Run, peer: Peer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = peer("speculators.models.eagle3").Eagle3DraftModel.from_pretrained(trained.folder)
    saved = load_file(trained.folder / "model.safetensors")
    for name, tensor in model.state_dict().items():
        if name in saved:
            assert torch.equal(tensor, saved[name]), name


def test_ids_of_other_layers_than_those_on_disk_fail(train: Callable[..., Run], wired: Contract) -> None:
    """Ids are given twice, to the capture and to the trainer, which cannot see that they differ."""
    run = train(target_layer_ids=[1, 3, 4])
    found = violated(judge(wired, "checkpoint", run.folder, "speculators"))
    assert found == {"checkpoint.taps"}


def test_the_flags_of_its_command_line_make_another_drafter(train: Callable[..., Run], wired: Contract) -> None:
    """By default they are all set (train/config/schema.py), while the class and SGLang have none of them."""
    run = train(norm_before_residual=True, norm_before_fc=True, norm_output=True)
    findings = judge(wired, "checkpoint", run.folder, "speculators")
    assert violated(findings) == {"checkpoint.tensors-read", "checkpoint.norm-flags"}
    asked = unrecorded(wired, VLLM, residual="post_norm", recurrent="post_norm", fc={"input_norm": "joint"})
    assert violated(judge(asked, "checkpoint", run.folder, "speculators")) == set()


def test_a_collator_without_its_shift_trains_all_the_same_and_fails(
    train: Callable[..., Run], contract: Contract, peer: Peer
) -> None:
    """0.5 moved the shift from the dataset into an argument of the collator, which is None by default."""
    run = train(2, preprocess=False)
    assert run.losses[1] < run.losses[0]
    failed = violated(_judge_loader(peer, contract, preprocess=False))
    assert failed >= {"loader.token-shift", "loader.target-shift"}
    shifted = violated(_judge_loader(peer, contract, preprocess=True))
    assert shifted == {"loader.nonfinite", "loader.row-count", "loader.neighbours"}


def _judge_loader(peer: Peer, contract: Contract, *, preprocess: bool) -> list[Finding]:
    def factory(asked: Contract) -> Any:
        data = peer("speculators.train.data")
        return load_packs(
            lambda folder: data.ArrowDataset(MAX_LENGTH, str(folder), on_missing="raise"),
            _collate(peer, asked, MAX_LENGTH, torch.bfloat16, preprocess=preprocess),
            FORMAT,
            MAX_LENGTH,
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence = gather_evidence(contract, Subject("loader", "script", "script", factory), Options())
    return [finding for item in clauses_of("loader") for finding in judge_clause(item, contract, evidence)]


def _collate(peer: Peer, contract: Contract, rows: int, dtype: torch.dtype, *, preprocess: bool) -> Any:
    shift = peer("speculators.models.eagle3.data").shift_batch if preprocess else None
    planes = len(contract.drafter.input)
    return peer("speculators.train.data").CollateFn(rows, contract.target.hidden_size, planes, dtype, shift)


def _open(peer: Peer, contract: Contract, data: Path, *, preprocess: bool) -> Any:
    """Open the dataset as scripts/train.py does, all samples in one pack."""
    dataset = peer("speculators.train.data").ArrowDataset(
        ROWS, str(data), on_missing="raise", hidden_states_dtype=torch.float32
    )
    collate = _collate(peer, contract, ROWS, torch.float32, preprocess=preprocess)
    return torch.utils.data.DataLoader(dataset, batch_size=len(dataset), collate_fn=collate)


def _configure(peer: Peer, trainer: ModuleType, save: Path, epochs: int) -> Any:
    arguments = {"loss_fn": "kl_div", "loss_implementation": "eager", "ttt_steps": 3, "ttt_step_loss_decay": 1.0}
    kwargs, _ = peer("speculators.models.eagle3").Eagle3DraftModel.get_trainer_kwargs(**arguments)
    return trainer.TrainerConfig(
        lr=3e-3,
        num_epochs=epochs,
        save_path=str(save),
        train_call_kwargs=kwargs,
        scheduler_type="none",
        checkpoint_freq=epochs,
        hidden_states_dtype=torch.float32,
    )
