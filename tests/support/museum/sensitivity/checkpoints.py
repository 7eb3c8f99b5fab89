"""Sizes of faults of an export of the recorded drafter, in bfloat16."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.faults.injecting.checkpoints import prepare_export
from eagle3_contracts.faults.injecting.exports import Export
from eagle3_contracts.findings import Verdict
from eagle3_contracts.subjects import Subject
from support.museum.exhibits import judge_subject, sum_up
from support.museum.sensitivity.size import Caught, Size, pick, stir, stir_matrices

Spoil = Callable[[Export, float, int], None]


def _in_export(clause: str, spoil: Spoil) -> Caught:
    def caught(contract: Contract, size: float, draw: int) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            changed, export = prepare_export(contract, Path(folder), "specforge", recorded=True)
            spoil(export, size, draw)
            found = judge_subject(changed, Subject("checkpoint", str(export.write()), "spoiled"))
            return sum_up(found)[clause] == Verdict.FAILED

    return caught


def _noise(export: Export, share: float, draw: int) -> None:
    stir_matrices(export.tensors, share, draw)


def _exchange_head_rows(export: Export, count: float, draw: int) -> None:
    """Give so many tokens the row of another one of them, or of a neighbour if there is one only."""
    head = export.tensors["lm_head.weight"].clone()
    rows = pick(len(head), count, draw)
    lent = rows[1:] + rows[:1] if len(rows) > 1 else [(row + 1) % len(head) for row in rows]
    head[rows] = export.tensors["lm_head.weight"][lent]
    export.tensors["lm_head.weight"] = head


def _shrink(export: Export, decades: float, _: int) -> None:
    name = "midlayer.mlp.down_proj.weight"
    export.tensors[name] = export.tensors[name] * 10**-decades


def _store_embedding(export: Export, share: float, draw: int) -> None:
    """Store the target's embedding, each row moved by a share of its length."""
    from safetensors.torch import load

    rows = load((embedded_target() / "model.safetensors").read_bytes())["model.embed_tokens.weight"]
    export.tensors["embed_tokens.weight"] = stir(rows.to(export.tensors["fc.weight"].dtype), share, draw)


def _size(what: str, clause: str, spoil: Spoil, high: float, *, whole: bool = False, drawn: bool = True) -> Size:
    return Size(what, f"checkpoint.{clause}", _in_export(f"checkpoint.{clause}", spoil), 0, high, whole, drawn)


CHECKPOINT_SIZES: tuple[Size, ...] = (
    _size("noise on every matrix of the drafter, share of its deviation", "drafted-tokens", _noise, 0.02),
    _size("rows of lm_head, of 160, that are another token's", "drafted-tokens", _exchange_head_rows, 64, whole=True),
    _size("decades by which down_proj is smaller", "dead-tensors", _shrink, 10, drawn=False),
    _size("noise on a stored embedding, share of each row's norm", "embedding", _store_embedding, 0.1),
)
