"""SpecForge 0.2.0 trains on the CPU: recorded states through its data plane, trainer and exporters to our clauses.

Real: OfflineManifestReader, LocalFeatureStore, FeatureDataLoader, TargetHead, the vocabulary map, the draft model,
Eagle3TrainStrategy, Trainer with its backend (DDP over gloo, one process), BF16Optimizer, CheckpointManager, to_sglang,
to_hf. Stand-ins: ``specforge.core.loss``, whose kernel is written in Triton, by the same cross entropy; the metadata
controller, which a trainer only reports to.
"""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, distributed

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.findings import Verdict
from support.recordings import (
    Wiring,
    declared_wiring,
    judge,
    make_samples,
    move_planes,
    unchecked,
    unrecorded,
    violated,
    write_dataset,
)

pytestmark = pytest.mark.peer("specforge")

Peer = Callable[[str], ModuleType]
FORMAT, LONGEST, EPOCHS, STEPS = "specforge", 256, 8, 3
SGLANG = {"sglang": ">=0.5.12,<0.5.24"}
FROZEN = {"embed_tokens.weight", "d2t", "t2d"}
"""What it does not train; the head, unlike speculators', it does."""


class Loss:
    """Stands in for LogSoftmaxLoss: the reference that the kernel's own module gives, masked rows counted."""

    @staticmethod
    def apply(logits: Tensor, shares: Tensor, mask: Tensor) -> Tensor:
        return -(mask * shares * logits.float().log_softmax(-1)).sum(2).mean()


class Controller:
    """Stands in for the control plane, which a trainer tells what it has read."""

    def register_trainer(self, _role: dict[str, str]) -> str:
        return "trainer"

    def ack_train_refs(self, *_read: Any, **_state: Any) -> None:
        return None


@dataclass(frozen=True)
class Run:
    """What a run left behind: the loss of each step, tensors before and after, the folder of its checkpoints."""

    losses: list[float]
    before: dict[str, Tensor]
    after: dict[str, Tensor]
    folder: Path
    draft: Path


@pytest.fixture(scope="module", autouse=True)
def _machine(peer: Peer) -> Iterator[None]:
    """Give what a CPU lacks: the kernel's module, a process group of one, functions that run uncompiled."""
    stand_in = ModuleType("specforge.core.loss")
    stand_in.__dict__["LogSoftmaxLoss"] = Loss
    peer("specforge.core")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "specforge.core.loss", stand_in)
        patch.setattr(peer("specforge.algorithms.eagle3.model"), "LogSoftmaxLoss", Loss)
        patch.setenv("FSDP_SHARDING", "NO_SHARD")
        torch.compiler.set_stance("force_eager")
        distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
        yield
        distributed.destroy_process_group()
        torch.compiler.set_stance("default")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the embedded target, with the index of shards that TargetHead asks for."""
    folder = shutil.copytree(embedded_target(), tmp_path_factory.mktemp("target") / "target")
    (weights,) = folder.glob("*.safetensors")
    index = {"weight_map": dict.fromkeys(load_file(weights), weights.name)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def wired(contract: Contract) -> Contract:
    return unrecorded(contract, SGLANG)


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Wiring], Path]:
    def write_states(wiring: Wiring) -> Path:
        folder = tmp_path_factory.mktemp("data") / "states"
        write_dataset(folder, FORMAT, make_samples(wiring), "bfloat16")
        return folder

    return write_states


@pytest.fixture(scope="module")
def data(write: Callable[[Wiring], Path], contract: Contract) -> Path:
    return write(declared_wiring(contract, FORMAT))


@pytest.fixture(scope="module")
def train(peer: Peer, contract: Contract, target: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    def run(data: Path, epochs: int = 1, **config: Any) -> Run:
        folder, losses = tmp_path_factory.mktemp("run"), []
        draft = folder / "draft.json"
        draft.write_text(json.dumps(_config(contract) | config), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _build(peer, contract, target, data, draft)
            before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            trainer = _make_trainer(peer, model, target, data, folder / "out", epochs, losses)
            assert trainer.fit() == epochs
        return Run(losses, before, model.state_dict(), folder / "out", draft)

    return run


@pytest.fixture(scope="module")
def trained(train: Callable[..., Run], data: Path) -> Run:
    return train(data, EPOCHS)


@pytest.fixture
def export(peer: Peer, tmp_path: Path, target: Path) -> Callable[..., Path]:
    """Export a run with one of the real exporters: ``sglang`` or ``hf``."""

    def write(run: Run, kind: str = "sglang") -> Path:
        exporter = getattr(peer(f"specforge.export.to_{kind}"), f"export_to_{kind}")
        more = {"embedding_source": str(target)} if kind == "hf" else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Path(exporter(str(run.folder), str(run.draft), str(tmp_path / kind), **more))

    return write


def test_the_data_that_it_trains_on_passes_every_clause(data: Path, contract: Contract) -> None:
    findings = judge(contract, "dataset", data, FORMAT)
    assert violated(findings) == unchecked(findings) == set()


def test_the_loss_falls_and_all_that_is_trained_moves(trained: Run) -> None:
    assert len(trained.losses) == EPOCHS
    assert all(later < earlier for earlier, later in zip(trained.losses, trained.losses[1:], strict=False))
    assert trained.losses[-1] < 0.9 * trained.losses[0]
    moved = {name for name, tensor in trained.after.items() if not torch.equal(tensor, trained.before[name])}
    assert moved == set(trained.after) - FROZEN


@pytest.mark.parametrize("kind", ["sglang", "hf"])
def test_what_it_exports_is_what_it_trained_and_violates_no_clause(
    kind: str, trained: Run, export: Callable[..., Path], wired: Contract
) -> None:
    folder = export(trained, kind)
    written = load_file(folder / "model.safetensors")
    assert set(trained.after) - set(written) == ({"embed_tokens.weight"} if kind == "sglang" else set())
    assert all(torch.equal(tensor, trained.after[name]) for name, tensor in written.items())
    findings = judge(wired, "checkpoint", folder, FORMAT)
    assert violated(findings) == unchecked(findings) == set(), findings
    passed = {item.clause for item in findings if item.verdict is Verdict.PASSED}
    assert passed >= {"checkpoint.taps", "checkpoint.embedding", "checkpoint.dead-tensors", "checkpoint.rope"}


def test_ids_of_the_run_alone_leave_the_engine_with_its_default(
    train: Callable[..., Run], export: Callable[..., Path], write: Callable[[Wiring], Path], wired: Contract
) -> None:
    """Boundaries 3, 5, 6 captured and trained on: the run knows it, the exported config says nothing."""
    asked = move_planes(wired, (3, 5, 6))
    data = write(declared_wiring(asked, FORMAT))
    assert violated(judge(asked, "dataset", data, FORMAT)) == set()
    folder = export(train(data, eagle_config={}))
    assert violated(judge(asked, "checkpoint", folder, FORMAT)) == {"checkpoint.taps"}


def test_states_before_the_norm_train_in_silence_and_fail(
    train: Callable[..., Run], write: Callable[[Wiring], Path], contract: Contract
) -> None:
    """speculators' last plane in SpecForge's files: TargetHead has no norm, and takes targets from what is there."""
    sound = declared_wiring(contract, FORMAT)
    data = write(Wiring(sound.boundaries, normed=False))
    run = train(data, 2)
    assert run.losses[1] < run.losses[0]
    assert "dataset.final-state" in violated(judge(contract, "dataset", data, FORMAT))


def test_the_rope_base_of_another_drafters_config_trains_in_silence_and_fails(
    train: Callable[..., Run], export: Callable[..., Path], data: Path, wired: Contract
) -> None:
    """A config copied from another drafter: nothing in training depends on it, and the export repeats it."""
    folder = export(train(data, rope_theta=10000.0))
    assert violated(judge(wired, "checkpoint", folder, FORMAT)) == {"checkpoint.rope"}


def _build(peer: Peer, contract: Contract, target: Path, data: Path, draft: Path) -> Any:
    """Make the draft model as the application does: from its config, a counted vocabulary, the target's embedding."""
    counts = peer("specforge.training.vocab_mapping").count_effective_feature_tokens(str(data))
    to_mappings = peer("specforge.data.preprocessing").process_token_dict_to_mappings
    d2t, t2d = to_mappings(counts, contract.drafter.draft_vocab_size, contract.target.vocab_size)
    mapping = draft.with_name("vocab_mapping.pt")
    torch.save({"d2t": d2t, "t2d": t2d}, mapping)
    auto = peer("specforge.modeling.auto")
    torch.manual_seed(0)
    model = auto.AutoDraftModel.from_config(
        auto.AutoDraftModelConfig.from_file(str(draft)), torch_dtype=torch.bfloat16, attention_backend="sdpa"
    )
    model.load_vocab_mapping(str(mapping))
    model.load_embedding(str(target))
    model.freeze_embedding()
    return model


def _make_trainer(peer: Peer, model: Any, target: Path, data: Path, out: Path, epochs: int, losses: list[float]) -> Any:
    """Make the real trainer: one batch of all samples, one step for each epoch, its losses kept."""
    plane = "specforge.runtime.data_plane"
    features = peer("specforge.algorithms.eagle3.data")
    strategy = peer("specforge.training.strategies.base").Eagle3TrainStrategy
    optimizer = peer("specforge.optimizer").BF16Optimizer
    refs = peer(f"{plane}.offline_reader").OfflineManifestReader(str(data), max_len=LONGEST).read()
    return peer("specforge.training.trainer").Trainer(
        algorithm_name="eagle3",
        make_step_strategy=strategy,
        controller=Controller(),
        store=peer(f"{plane}.feature_store").LocalFeatureStore(),
        ref_source={"refs": refs},
        model=peer("specforge.algorithms.eagle3.model").OnlineEagle3Model(model, STEPS, attention_backend="sdpa"),
        target_head=peer("specforge.modeling.target.target_head").TargetHead.from_pretrained(str(target)),
        optimizer_factory=lambda draft: optimizer(
            draft, lr=3e-3, total_steps=epochs, warmup_ratio=0.0, lr_scheduler="constant"
        ),
        run_id="run",
        output_dir=str(out),
        batch_size=len(refs),
        accumulation_steps=1,
        num_epochs=epochs,
        max_steps=None,
        save_interval=0,
        logger=lambda metrics, _step: losses.append(metrics["loss"]),
        log_interval=1,
        collate_fn=features.build_offline_collator(),
        per_sample_transform=features.build_offline_normalizer(LONGEST),
    )


def _config(contract: Contract) -> dict[str, Any]:
    """Write the draft's config as SpecForge's own configs are: flat, ids in eagle_config."""
    drafter, attention = contract.drafter, contract.drafter.attention
    assert attention.kind == "gqa"
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "vocab_size": contract.target.vocab_size,
        "draft_vocab_size": drafter.draft_vocab_size,
        "hidden_size": drafter.hidden_size,
        "intermediate_size": drafter.intermediate_size,
        "num_hidden_layers": 1,
        "num_attention_heads": attention.heads,
        "num_key_value_heads": attention.kv_heads,
        "head_dim": attention.head_dim,
        "max_position_embeddings": drafter.max_position,
        "rms_norm_eps": contract.target.norm.eps,
        "rope_theta": drafter.rope.theta,
        "pad_token_id": 0,
        "tie_word_embeddings": False,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": [plane.boundary - 1 for plane in contract.input_planes()]},
    }
