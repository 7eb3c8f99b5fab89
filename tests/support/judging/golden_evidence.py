"""Hand-made evidence of recordings: a sound one of the toy contract, and the same with one thing changed."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.recorded import draft_shapes, state_shapes
from eagle3_contracts.drafter import INTEGER_TENSORS, expected_tensors
from eagle3_contracts.evidence import (
    CheckpointEvidence,
    DraftedComparison,
    GoldenEvidence,
    LogitAgreement,
    RecordedFile,
    RecordedSequence,
    StateAgreement,
    TensorHeader,
    WeightRecord,
    WorstRow,
)
from support.judging.documents import LAYERS, VOCAB, toy_contract

TOY = toy_contract()
LENGTHS = (40, 30, 1)
PLANES = LAYERS + 2
_TOP = {"top_ids": (1, 16), "top_logits": (1, 16), "log_sum_exp": (1,)}
_KEPT = {"drafted": (1, 3), "top_ids": (3, 1, 8)}


def headers(shapes: dict[str, tuple[int, ...]], dtype: str) -> dict[str, TensorHeader]:
    """Give the headers of tensors as a recorder stores them."""
    whole, kept = {"drafted", "top_ids"}, {"top_logits", "log_sum_exp"}
    return {
        name: TensorHeader("int32" if name in whole else "float32" if name in kept else dtype, shape)
        for name, shape in shapes.items()
    }


def sequence(
    number: int, rows: int, *, top_k: bool = False, dtype: str = "bfloat16", **changes: Any
) -> RecordedSequence:
    """Give a recorded sequence whose tensors have their shapes."""
    found = RecordedSequence(
        number=number,
        token_ids=tuple((7 * at + number) % VOCAB for at in range(rows)),
        length=rows,
        kind="text",
        dtype=dtype,
        digest=f"digest-{number}",
        actual_digest=f"digest-{number}",
        states=headers(state_shapes(TOY, rows, _TOP if top_k else {}), dtype),
        drafts=headers(draft_shapes(TOY, rows, _KEPT), "float32"),
        nonfinite={},
    )
    return dataclasses.replace(found, **changes)


def sequences(**changes: Any) -> tuple[RecordedSequence, ...]:
    """Give the three sequences, the second one changed."""
    return (
        sequence(0, LENGTHS[0]),
        dataclasses.replace(sequence(1, LENGTHS[1]), **changes),
        sequence(2, LENGTHS[2], dtype="float32"),
    )


def states(dtype: str = "bfloat16", **planes: tuple[float, float, str]) -> StateAgreement:
    """Give distances that are small but at the named planes (``r3``): median, worst row, what it is nearest to."""
    told = [planes.get(f"r{at}", (0.0017, 0.0024, "")) for at in range(PLANES)]
    return StateAgreement(
        dtype=dtype,
        sequences=2,
        tokens=69,
        sinks=1,
        median=tuple(median for median, _, _ in told),
        worst=tuple(WorstRow(1, 12, worst) for _, worst, _ in told),
        nearest=tuple(name for _, _, name in told),
    )


def logits(against: Any = "target", dtype: str = "bfloat16", **changes: Any) -> LogitAgreement:
    """Give differences of log-probability."""
    dtypes = (dtype, "float32" if against == "target" else "bfloat16")
    found = LogitAgreement(against, "dense", dtypes, 2, 70, 0.03, WorstRow(1, 12, 0.08), 5e-5)
    return dataclasses.replace(found, **changes)


def drafter(**shapes: tuple[int, ...]) -> CheckpointEvidence:
    """Give what lies in the drafter's folder, tensors of other shapes by name."""
    config = {"vocab_size": VOCAB, "draft_vocab_size": TOY.drafter.draft_vocab_size, "hidden_size": 8}
    return CheckpointEvidence(
        "toy",
        form="specforge",
        scan="headers",
        config=config,
        weights={
            name: WeightRecord(
                "model.safetensors",
                "int64" if name in INTEGER_TENSORS else "bfloat16",
                shapes.get(name.partition(".")[0], tensor.shape),
                name,
            )
            for name, tensor in expected_tensors(TOY).items()
            if not tensor.borrowed
        },
        d2t=np.arange(TOY.drafter.draft_vocab_size) // 2,
    )


def drafted(agreement: float = 1.0, distance: float | None = 2e-6) -> DraftedComparison:
    """Give a comparison of drafted tokens."""
    return DraftedComparison(204, agreement, (agreement,) * 3, "toy", distance)


def sound_golden(document: Contract = TOY, **changes: Any) -> GoldenEvidence:
    """Give the evidence of a sound recording, with some of it changed."""
    found = GoldenEvidence(
        subject="toy",
        contract=document.reference,
        digest=document.digest,
        route="numpy",
        routes=("torch",),
        target_digest="a" * 64,
        versions={"python": "3.11.7", "torch": "2.13.0+cpu"},
        installed={"python": "3.11.9", "torch": "2.13.0"},
        files=(
            RecordedFile("drafts.safetensors", ("d" * 64, 700), ("d" * 64, 700)),
            RecordedFile("states.safetensors", ("5" * 64, 90_000), ("5" * 64, 90_000)),
        ),
        sequences=sequences(),
        compared=(0, 1, 2),
        states=(states(), states("float32", **{f"r{at}": (3e-7, 6e-7, "") for at in range(PLANES)})),
        logits=(logits("state"), logits("target")),
        drafter=drafter(),
        drafted=drafted(),
    )
    return dataclasses.replace(found, **changes)
