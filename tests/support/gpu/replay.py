"""Rows of hidden states with CUDA graphs, held against those of the same server without."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServedAnswer, ServerEvidence
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.reports.evidence_file import Replay

Distances = npt.NDArray[np.float64]

FAR = 1e6
"""The distance of rows that cannot be compared, or that are no numbers; what is written must be finite."""


def compare_replay(
    contract: Contract, name: str, with_graphs: ServerEvidence, twin: str, without: ServerEvidence
) -> Replay:
    """Compare every plane of every row, of prompts and of the tokens that both generated, alone and in a batch."""
    prompts: list[Distances] = [np.empty(0)]
    later: list[Distances] = [np.empty(0)]
    for one, other in _paired_answers(with_graphs, without):
        prompts.append(_distances(contract, one.rows, other.rows))
        same = _common_length(one.output_ids, other.output_ids)
        later.append(_distances(contract, _first(one.later_rows, same), _first(other.later_rows, same)))
    dtype = with_graphs.arguments.dtype if with_graphs.arguments is not None else None
    tolerance = contract.tolerance_for(dtype or contract.target.dtype)
    assert tolerance is not None, "the contract declares no tolerance for what was served"
    return Replay(
        server=name,
        twin=twin,
        prompt_rows=sum(map(len, prompts)),
        prompt_median=_median(prompts),
        later_rows=sum(map(len, later)),
        later_median=_median(later),
        bound=tolerance.relative_l2_median,
    )


def _paired_answers(left: ServerEvidence, right: ServerEvidence) -> Iterator[tuple[ServedAnswer, ServedAnswer]]:
    for one, other in zip(left.probes, right.probes, strict=False):
        assert one.token_ids == other.token_ids, "the two servers were asked different probes"
        for mine, its in ((one.alone, other.alone), (one.batched, other.batched)):
            if mine is not None and its is not None:
                yield mine, its


def _distances(
    contract: Contract, rows: npt.NDArray[np.floating] | None, others: npt.NDArray[np.floating] | None
) -> Distances:
    """Give one distance for each plane of each row; rows of unlike number or width are as far apart as can be."""
    if rows is None or others is None or not len(rows):
        return np.empty(0)
    width = contract.target.hidden_size
    if rows.shape != others.shape or rows.shape[1] % width:
        return np.full(len(rows), FAR)
    return relative_l2(rows.reshape(-1, width), others.reshape(-1, width)).astype(np.float64)


def _first(rows: npt.NDArray[np.floating] | None, count: int) -> npt.NDArray[np.floating] | None:
    return None if rows is None else rows[:count]


def _median(distances: list[Distances]) -> float:
    together = np.concatenate(distances)
    known = np.nan_to_num(together, nan=FAR, posinf=FAR)
    return float(np.median(known)) if len(known) else 0.0


def _common_length(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (mine, its) in enumerate(pairs) if mine != its), min(len(one), len(other)))
