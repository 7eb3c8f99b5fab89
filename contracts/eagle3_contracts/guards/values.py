"""The numbers of one batch: parts as tables, sampled rows, and whether they are finite and not all zeros."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clause

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.subjects.loaders.protocol import StepZero

SUBJECT = "first batch"
SAMPLED = 256
"""Rows that are looked at one by one."""


def rows_of(value: Any) -> Tensor:
    """Give a part of a batch as [B, N, ...]; [N] becomes one sequence, and a mask's last dimension of one goes."""
    import torch

    tensor = torch.as_tensor(value).detach()
    if tensor.ndim == 3 and tensor.shape[-1] == 1:
        tensor = tensor[..., 0]
    return tensor[None] if tensor.ndim == 1 else tensor


def states_of(value: Any) -> Tensor:
    """Give states as [B, N, W]."""
    import torch

    tensor = torch.as_tensor(value).detach()
    return tensor[None] if tensor.ndim == 2 else tensor


def sample(batch: StepZero, part: Any, *, trained: bool = False) -> Tensor:
    """Give some rows of a part that are no padding, [at most SAMPLED, W], spread over the batch.

    ``trained``: only rows that the mask trains.
    """
    import torch

    states = states_of(part)
    flat = states.reshape(-1, states.shape[-1])
    real = torch.ones(len(flat), dtype=torch.bool) if batch.documents is None else rows_of(batch.documents).ravel() >= 0
    if trained and batch.mask is not None:
        real = real & (rows_of(batch.mask).ravel() != 0).to(real.device)
    places = real.nonzero().ravel()
    return flat[places[:: max(1, len(places) // SAMPLED)][:SAMPLED].to(flat.device)]


def check_finite(batch: StepZero) -> Finding:
    """Look at every number of the batch: the one look that grows with it."""
    parts = {"fc_input": batch.fc_input, "last_hidden": batch.last_hidden}
    states = {name: states_of(part) for name, part in parts.items() if part is not None}
    # A sum is finite only if all its terms are, and needs no copy; an overflow is told apart by looking again.
    doubtful = {name: part for name, part in states.items() if not bool(part.sum(dtype=_wide()).isfinite())}
    wrong = {name: count for name, part in doubtful.items() if (count := int((~part.isfinite()).sum()))}
    told = ", ".join(f"{count} values of {name} are NaN or infinite" for name, count in wrong.items())
    return clause("loader.nonfinite").find(
        Verdict.FAILED if wrong else Verdict.PASSED,
        SUBJECT,
        observed=told or "all values are finite",
        measure=float(sum(wrong.values())),
        bound=0.0,
        hint="find the sample with `eagle3-contracts check`, clause dataset.finite, and capture it again"
        if wrong
        else "",
    )


def check_zero_rows(batch: StepZero) -> Iterator[Finding]:
    """Fail for sampled rows of zeros where a row is trained: slots that nobody wrote (vLLM PR #46301)."""
    if batch.mask is None and batch.documents is None:
        return
    parts = {"fc_input": batch.fc_input, "last_hidden": batch.last_hidden}
    wrong, seen = {}, 0
    for name, part in parts.items():
        if part is not None:
            rows = sample(batch, part, trained=True)
            seen, wrong[name] = max(seen, len(rows)), int((rows.float() == 0).all(dim=-1).sum())
    if not seen:
        return
    told = ", ".join(
        f"{count} of {seen} sampled rows of {name} are all zeros" for name, count in wrong.items() if count
    )
    yield clause("dataset.zero-rows").find(
        Verdict.FAILED if told else Verdict.PASSED,
        SUBJECT,
        observed=told or f"none of {seen} sampled rows is all zeros",
        measure=float(sum(wrong.values())),
        bound=0.0,
        hint="find the sample with `eagle3-contracts check`, clause dataset.zero-rows, and capture it again"
        if told
        else "",
    )


def _wide() -> Any:
    import torch

    return torch.float32
