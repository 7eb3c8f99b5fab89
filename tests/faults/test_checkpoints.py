"""Sound checkpoints raise nothing, and a fault is caught without a target wherever the files show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults import Fault, faults_of
from eagle3_contracts.faults.injecting.checkpoints import ENGINES, inject_checkpoint, prepare_export
from eagle3_contracts.faults.injecting.exports import FORMS, Export, Form
from eagle3_contracts.findings import Finding, Verdict

Judge = Callable[..., list[Finding]]
WITHOUT_TARGET = {
    *("checkpoint-random-embedding", "checkpoint-end-of-text-dropped"),
    *("checkpoint-queries-interleaved", "checkpoint-halves-swapped", "checkpoint-planes-of-fc-reversed"),
    "checkpoint-head-shards-swapped",
}
"""Faults that only the target's folder shows: its embedding, where its texts end, and what is drafted behind it."""

EXCHANGES = {
    "planes of fc": ("fc.weight",),
    "keys and values": ("midlayer.self_attn.k_proj.weight", "midlayer.self_attn.v_proj.weight"),
    "gate and up": ("midlayer.mlp.gate_proj.weight", "midlayer.mlp.up_proj.weight"),
    "norms": ("midlayer.hidden_norm.weight", "midlayer.input_layernorm.weight"),
    "rows of lm_head": ("lm_head.weight",),
}
"""Tensors of one shape that change places; of a single one, its first plane with the second, or its rows by one."""


def exchange(export: Export, names: tuple[str, ...]) -> None:
    moved = [export.tensors[name].clone() for name in names]
    if names == ("fc.weight",):
        low, mid, high = moved[0].chunk(3, dim=1)
        moved = [torch.cat([mid, low, high], dim=1)]
    elif len(moved) == 1:
        moved = [moved[0].roll(1, 0)]
    export.tensors.update(zip(names, reversed(moved), strict=True))


def of(findings: Iterable[Finding], *verdicts: Verdict) -> set[str]:
    return {item.clause for item in findings if item.verdict in verdicts}


def told(findings: Iterable[Finding]) -> str:
    kept = [item for item in findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
    return "\n".join(f"{item.clause} {item.level} {item.verdict}: {item.observed}" for item in kept)


@pytest.mark.parametrize("fault", faults_of("checkpoint"), ids=lambda fault: fault.id)
def test_a_faulty_checkpoint_is_caught_without_a_target(
    fault: Fault, contract: Contract, judge_checkpoint: Judge, tmp_path: Path
) -> None:
    changed, folder = inject_checkpoint(fault.id, contract, tmp_path / "drafter")
    failed = of(judge_checkpoint(changed, folder, target=False), Verdict.FAILED)
    assert (fault.clause in failed) is (fault.id not in WITHOUT_TARGET)


@pytest.mark.parametrize("write", [Export.write, Export.write_sharded, Export.write_bin])
@pytest.mark.parametrize("form", FORMS)
def test_a_sound_export_raises_nothing(
    form: Form, write: Callable[[Export], Path], contract: Contract, judge_checkpoint: Judge, tmp_path: Path
) -> None:
    """Each form with the engines that read it: SGLang has no class for speculators' and EAGLE's own config."""
    engines = ENGINES if form in {"specforge", "modelopt"} else {"vllm": ENGINES["vllm"]}
    changed, export = prepare_export(contract, tmp_path / "drafter", form, engines=engines)
    findings = judge_checkpoint(changed, write(export))
    assert told(findings) == ""
    passed = of(findings, Verdict.PASSED)
    assert passed >= {"checkpoint.taps", "checkpoint.engine-tensors", "checkpoint.dead-tensors", "checkpoint.rope"}


@pytest.mark.parametrize("names", EXCHANGES.values(), ids=EXCHANGES)
def test_exchanged_tensors_are_told_by_recorded_tokens_alone(
    names: tuple[str, ...], contract: Contract, judge_checkpoint: Judge, tmp_path: Path
) -> None:
    """The page says so. Without the target, behind which is drafted, nothing tells them."""
    changed, export = prepare_export(contract, tmp_path / "drafter", "specforge", recorded=True)
    exchange(export, names)
    folder = export.write()
    assert of(judge_checkpoint(changed, folder), Verdict.FAILED) == {"checkpoint.drafted-tokens"}
    assert told(judge_checkpoint(changed, folder, target=False)) == ""
