"""What the rows of one batch show: shapes, tokens, mask, finiteness, boundary 0 by repeated tokens, norms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eagle3_contracts.clauses.bounds import NORMED, NOT_NORMED
from eagle3_contracts.clauses.norm_states import read_norm_state
from eagle3_contracts.findings import Finding, Rung, Verdict, Where
from eagle3_contracts.guards.embedding_rows import check_embedding
from eagle3_contracts.guards.values import check_finite, check_zero_rows, rows_of, sample, states_of
from eagle3_contracts.registry import clause

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.contract import Contract, Plane
    from eagle3_contracts.subjects.loaders.protocol import StepZero

SUBJECT = "first batch"


def check_batch(
    contract: Contract, batch: StepZero, norm_weight: Any = None, dataset_format: str | None = None
) -> Iterator[Finding]:
    """Give the findings of one batch; where its parts do not fit together, those alone.

    ``dataset_format``: what the batch was read from, since one format keeps the final state in another norm state.
    """
    last = find_last_plane(contract, dataset_format)
    misfits = list(_check_shapes(contract, batch, last))
    yield from misfits
    if any(item.verdict is Verdict.FAILED for item in misfits):
        return
    yield _check_tokens(contract, batch)
    yield _check_mask(batch)
    yield check_finite(batch)
    yield from check_zero_rows(batch)
    yield from check_embedding(contract, batch)
    yield from _check_norms(contract, batch, last)
    yield _check_norm_state(batch, last, norm_weight)
    yield _check_targets(batch)


def find_last_plane(contract: Contract, dataset_format: str | None) -> Plane | None:
    """Give the last hidden state as a format keeps it: itself, or the same boundary in another state."""
    plane = contract.last_hidden_plane()
    stored = contract.stored_planes(dataset_format)
    if plane is None or plane in stored:
        return plane
    return next((other for other in stored if other.boundary == plane.boundary), plane)


def _check_shapes(contract: Contract, batch: StepZero, last: Plane | None) -> Iterator[Finding]:
    """Compare widths with the declared planes, and all parts with the rows of fc's input."""
    fed, hidden = states_of(batch.fc_input), contract.target.hidden_size
    planes = contract.input_planes()
    if not fed.numel():
        told, hint = f"the batch is empty: fc's input is {list(fed.shape)}", "give the first batch that has rows"
        yield clause("loader.runs").find(Verdict.FAILED, SUBJECT, observed=told, measure=0.0, bound=1.0, hint=hint)
        return
    told = f"fc's input is {fed.shape[-1]} wide, {fed.shape[-1] / hidden:g} planes of {hidden}, in {_dtype(fed)}"
    wide = fed.ndim == 3 and fed.shape[-1] == hidden * len(planes) and fed.is_floating_point()
    yield clause("loader.fc-input").find(
        Verdict.PASSED if wide else Verdict.FAILED,
        SUBJECT,
        observed=told,
        expected=f"{hidden * len(planes)}: cat({', '.join(plane.name for plane in planes)}) of {hidden} each",
        measure=float(fed.shape[-1]),
        bound=float(hidden * len(planes)),
        hint="" if wide else "store and feed the planes that the contract lists (drafter.input), or train for another",
    )
    yield from _check_last_hidden(batch, last, (*fed.shape[:2], hidden))
    parts = {"tokens": batch.tokens, "mask": batch.mask, "positions": batch.positions, "documents": batch.documents}
    sizes = {name: tuple(rows_of(part).shape) for name, part in parts.items() if part is not None}
    wrong = {name: size for name, size in sizes.items() if size != tuple(fed.shape[:2])}
    said = ", ".join(f"{name} {list(size)}" for name, size in (wrong or sizes).items())
    yield clause("loader.runs").find(
        Verdict.FAILED if wrong else Verdict.PASSED,
        SUBJECT,
        observed=f"{said} beside {list(fed.shape[:2])} rows of states",
        expected="one token, mask, position and document for each row",
        measure=float(len(wrong)),
        bound=0.0,
        hint="shift and pad all parts of a sample alike, before they are batched" if wrong else "",
    )


def _check_last_hidden(batch: StepZero, plane: Plane | None, wanted: tuple[int, ...]) -> Iterator[Finding]:
    rule = clause("loader.last-hidden")
    if batch.last_hidden is None or plane is None:
        told = "the batch gives no last hidden state" if batch.last_hidden is None else "the contract declares none"
        wrong = batch.last_hidden is None and plane is not None
        yield rule.find(Verdict.ERRORED if wrong else Verdict.SKIPPED, SUBJECT, observed=told)
        return
    last = states_of(batch.last_hidden)
    fits = tuple(last.shape) == wanted
    yield rule.find(
        Verdict.PASSED if fits else Verdict.FAILED,
        SUBJECT,
        observed=f"the last hidden state is {list(last.shape)} in {_dtype(last)}",
        expected=f"{list(wanted)}: {plane.name}, boundary {plane.boundary}",
        measure=float(last.shape[-1]),
        bound=float(wanted[-1]),
        hint="" if fits else "the last stored plane becomes the last hidden state: see its place (storage.planes)",
    )


def _check_tokens(contract: Contract, batch: StepZero) -> Finding:
    tokens, vocabulary = rows_of(batch.tokens), contract.target.vocab_size
    low, high = int(tokens.min()), int(tokens.max())
    whole = not tokens.is_floating_point() and not tokens.is_complex() and str(tokens.dtype) != "torch.bool"
    fits = low >= 0 and high < vocabulary and whole
    return clause("loader.stored-tokens").find(
        Verdict.PASSED if fits else Verdict.FAILED,
        SUBJECT,
        observed=f"token ids from {low} to {high}",
        expected=f"whole numbers from 0 to {vocabulary - 1}",
        measure=float(high),
        bound=float(vocabulary - 1),
        hint="" if fits else "tokenize with the target's own tokenizer; ids of the draft vocabulary are no input",
    )


def _check_mask(batch: StepZero) -> Finding:
    """Fail if nothing is trained, if values are no flags, or if padding is trained."""
    rule = clause("loader.padding")
    if batch.mask is None:
        return rule.find(Verdict.SKIPPED, SUBJECT, observed="the batch gives no mask: every row is trained")
    mask = rows_of(batch.mask)
    trained, odd = int((mask != 0).sum()), int(((mask != 0) & (mask != 1)).sum())
    padded = 0 if batch.documents is None else int(((mask != 0) & (rows_of(batch.documents) < 0)).sum())
    wrong = [f"{odd} values are neither 0 nor 1"] if odd else []
    wrong += [f"{padded} rows of padding are trained"] if padded else []
    wrong += [] if trained else ["no row is trained"]
    return rule.find(
        Verdict.FAILED if wrong else Verdict.PASSED,
        SUBJECT,
        observed="; ".join([f"{trained} of {mask.numel()} rows are trained", *wrong]),
        expected="flags, some of them set, none on padding",
        measure=float(odd + padded + (not trained)),
        bound=0.0,
        hint="see how the loss mask is made of the conversation, and that it is cut and shifted with it"
        if wrong
        else "",
    )


def _check_norms(contract: Contract, batch: StepZero, last: Plane | None) -> Iterator[Finding]:
    """Compare median norms with the declared ranges: they inform, and never decide."""
    hidden = contract.target.hidden_size
    fed = sample(batch, batch.fc_input)
    named = [
        (plane, fed[:, index * hidden : (index + 1) * hidden]) for index, plane in enumerate(contract.input_planes())
    ]
    if last is not None and batch.last_hidden is not None:
        named.append((last, sample(batch, batch.last_hidden)))
    for plane, rows in named:
        if plane.norm is None or not len(rows):
            continue
        median, (low, high) = float(rows.float().norm(dim=-1).median()), plane.norm.median
        fits = low <= median <= high
        yield clause("dataset.norm-range").find(
            Verdict.PASSED if fits else Verdict.FAILED,
            SUBJECT,
            observed=f"the median norm of what should be {plane.name} is {median:.4g}{_say_others(contract, median)}",
            expected=f"{low:g} to {high:g}",
            where=Where(plane=plane.name),
            measure=median,
            bound=high if median > high else low,
            hint="" if fits else "norms inform only: hold the dataset against the target (--contract-target)",
        )


def _say_others(contract: Contract, median: float) -> str:
    names = [
        plane.name for plane in contract.planes if plane.norm and plane.norm.median[0] <= median <= plane.norm.median[1]
    ]
    return f", as {', '.join(names)} may have" if names else ""


def _check_norm_state(batch: StepZero, plane: Plane | None, norm_weight: Any) -> Finding:
    """Tell by the final norm's weight whether the last hidden state has passed it."""
    import torch

    rule = clause("loader.last-hidden")
    if plane is None or batch.last_hidden is None or not plane.is_final or norm_weight is None:
        told = "whether the last hidden state has passed the final norm was not looked at: no norm_weight was given"
        if plane is None or not plane.is_final:
            told = "the declared last hidden state is no final state"
        return rule.find(Verdict.SKIPPED, SUBJECT, observed=told)
    rows = sample(batch, batch.last_hidden).float()
    weight = torch.as_tensor(norm_weight).detach().to(rows)
    if weight.shape != rows.shape[-1:]:
        told = f"norm_weight is {list(weight.shape)}, rows are {rows.shape[-1]} wide"
        return rule.find(Verdict.ERRORED, SUBJECT, observed=told, hint="give the target's final norm, [hidden size]")
    value = float((rows / weight).square().mean(dim=-1).sqrt().median())
    return _judge_norm_state(plane, read_norm_state(value), value)


def _judge_norm_state(plane: Plane, state: str | None, value: float) -> Finding:
    told = state.replace("_", "-") if state else "neither clearly pre-norm nor post-norm"
    declared = plane.state.replace("_", "-")
    low, high = NORMED if plane.state == "post_norm" else NOT_NORMED
    fits = state == plane.state
    return clause("loader.last-hidden").find(
        Verdict.PASSED if fits else Verdict.FAILED if state else Verdict.ERRORED,
        SUBJECT,
        observed=f"the last hidden state is {told}: rms(row / final norm weight) is {value:.4g} in the median",
        expected=f"{declared}: {'between' if plane.state == 'post_norm' else 'outside'} {low:g} and {high:g}",
        where=Where(plane=plane.name),
        rung=Rung.NORM,
        measure=value,
        bound=high,
        hint=""
        if fits
        else f"capture the final state {declared}, or declare what the trainer applies (last_hidden_norm)",
    )


def _check_targets(batch: StepZero) -> Finding:
    rule = clause("loader.draft-vocabulary")
    if batch.targets is None or batch.vocabulary is None:
        told = "the batch gives no target token ids, or no draft vocabulary to hold them against"
        return rule.find(Verdict.SKIPPED, SUBJECT, observed=told)
    targets, known = rows_of(batch.targets).long(), rows_of(batch.vocabulary).ravel().bool()
    mask = rows_of(batch.mask) if batch.mask is not None else None
    if not len(known) or (mask is not None and mask.shape != targets.shape):
        told = f"targets {list(targets.shape)} beside a draft vocabulary of {len(known)} tokens"
        told += f" and a mask {list(mask.shape)}" if mask is not None else ""
        return rule.find(Verdict.ERRORED, SUBJECT, observed=told, hint="give one target for each row, and all of t2d")
    trained = targets[mask != 0] if mask is not None else targets.ravel()
    there = (trained >= 0) & (trained < len(known))
    outside = int((~there).sum()) + int((~known[trained[there]]).sum())
    return rule.find(
        Verdict.FAILED if outside else Verdict.PASSED,
        SUBJECT,
        observed=f"{outside} of {len(trained)} trained rows have a target outside the draft vocabulary",
        expected="none",
        measure=float(outside),
        bound=0.0,
        hint="mask rows whose target t2d does not hold" if outside else "",
    )


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
