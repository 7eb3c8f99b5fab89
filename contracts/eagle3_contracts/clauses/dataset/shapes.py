"""Shapes as headers tell them: number and width of planes, dtype, scales, rows and mask against token ids."""

from __future__ import annotations

from collections.abc import Callable

from eagle3_contracts.clauses.dataset.files import find_obstacle
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DatasetEvidence, Signature, Tally
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause

Odd = Callable[[Signature], str]
"""Say what is wrong with a signature; empty if nothing is."""


def stored_dtypes(contract: Contract, evidence: DatasetEvidence) -> list[str]:
    """Give every dtype that the states went through: what the target computes in, and what is stored."""
    stored = {dtype for signature in evidence.signatures for dtype in signature.dtypes}
    return [contract.target.dtype, *sorted(stored)]


def check_plane_count(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for samples with more or fewer planes than ``storage`` lists for the format."""
    names = [plane.name for plane in contract.stored_planes(evidence.format)]

    def odd(signature: Signature) -> str:
        return f"{signature.planes} planes" if signature.planes != len(names) else ""

    hint = (
        "compare the ids given to the capture with the contract: `eagle3-contracts explain "
        f"{contract.reference}` lists them for every tool, and says which tools append the final state themselves"
    )
    return _judge_signatures(clause, evidence, odd, f"{len(names)} planes: {', '.join(names)}", hint)


def check_width(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for planes that are not as wide as the target's residual stream."""
    hidden = contract.target.hidden_size

    def odd(signature: Signature) -> str:
        wrong = sorted({width for width in signature.widths if width != hidden})
        return f"planes {', '.join(map(str, wrong))} wide" if wrong else ""

    hint = f"these are the states of another target than {contract.target.model}, or planes side by side in one"
    return _judge_signatures(clause, evidence, odd, f"planes {hidden} wide (target.hidden_size)", hint)


def check_dtype(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for planes in another dtype than ``storage`` declares for the format."""
    declared = contract.stored_dtype(evidence.format)

    def odd(signature: Signature) -> str:
        wrong = sorted({dtype for dtype in signature.dtypes if dtype != declared})
        return f"planes in {', '.join(wrong)}" if wrong else ""

    hint = (
        f"store states in {declared}; loaders cast in silence, and what float16 or float8 has lost stays lost. If the "
        "dtype is meant, declare it (storage.dtype, storage.dtypes)"
    )
    return _judge_signatures(clause, evidence, odd, f"planes in {declared}", hint)


def check_scales(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for float8 planes without scales beside them; skipped if nothing is stored in float8."""
    del contract
    obstacle = find_obstacle(evidence)
    quantised = any(_is_quantised(signature) for signature in evidence.signatures)
    if obstacle is None and not quantised:
        obstacle = Obstacle("no plane is stored in float8, so that there is nothing to scale", skips=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]

    def odd(signature: Signature) -> str:
        scaled = any("scale" in name for name, _ in signature.tensors)
        return "float8 planes without scales" if _is_quantised(signature) and not scaled else ""

    hint = (
        "write with the transfer that keeps hidden_states_scales, and read with one that applies them (the plain "
        "file transfer of hs-connectors reads the values unscaled, without a word)"
    )
    return _judge_signatures(clause, evidence, odd, "a tensor of scales beside every float8 tensor of states", hint)


def _is_quantised(signature: Signature) -> bool:
    return any(dtype.startswith("float8") for dtype in signature.dtypes)


def check_rows(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for samples whose planes have more or fewer rows than the sample has token ids."""
    del contract

    def odd(signature: Signature) -> str:
        return _say_surplus("row", signature.row_surplus)

    unread = _find_absence(evidence, lambda signature: signature.row_surplus is None, "token ids")
    if unread is not None:
        return [unread.finding(clause, evidence.subject)]
    hint = (
        "capture again without prefix cache and chunked prefill; a row too few shifts every sample that a loader packs "
        "after this one (speculators 0.4 to 0.9)"
    )
    return _judge_signatures(clause, evidence, odd, "one row per token id in every plane", hint)


def check_mask_length(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for samples whose loss mask is longer or shorter than their token ids; skipped if there are no masks."""
    del contract

    def odd(signature: Signature) -> str:
        return _say_surplus("mask entry", signature.mask_surplus)

    unread = find_mask_obstacle(evidence)
    if unread is not None:
        return [unread.finding(clause, evidence.subject)]
    hint = "store the mask of the same token ids, neither shifted nor cut: the loader alone shifts"
    return _judge_signatures(clause, evidence, odd, "one mask entry per token id", hint)


def find_mask_obstacle(evidence: DatasetEvidence) -> Obstacle | None:
    """Say why there is no loss mask to judge, or give None: a dataset without any is skipped, no fault of the file."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return obstacle
    if all(signature.mask_surplus is None for signature in evidence.signatures):
        return Obstacle(f"files of format {evidence.format} hold no loss mask here", skips=True)
    return _find_absence(evidence, lambda signature: signature.mask_surplus is None, "loss mask")


def _find_absence(evidence: DatasetEvidence, absent: Callable[[Signature], bool], what: str) -> Obstacle | None:
    """Say of how many samples something could not be compared, or give None."""
    tally = _add(evidence, absent)
    if not tally.count:
        return None
    reason = f"{tally.count:,} of {evidence.samples:,} samples without {what} to compare with"
    return Obstacle(reason, where=tally.place)


def _say_surplus(what: str, surplus: int | None) -> str:
    if not surplus:
        return ""
    return f"{say_count(abs(surplus), what)} {'more' if surplus > 0 else 'fewer'} than token ids"


def _add(evidence: DatasetEvidence, chosen: Callable[[Signature], bool]) -> Tally:
    total = Tally()
    for signature, tally in evidence.signatures.items():
        if chosen(signature):
            total = total.merge(tally)
    return total


def _judge_signatures(clause: Clause, evidence: DatasetEvidence, odd: Odd, expected: str, hint: str) -> list[Finding]:
    """Fail once per way of being wrong, rarest last, naming the first files of it and how many samples it concerns."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    wrong: dict[str, Tally] = {}
    for signature, tally in evidence.signatures.items():
        told = odd(signature)
        if told:
            wrong[told] = wrong.get(told, Tally()).merge(tally)
    samples = sum(tally.count for tally in evidence.signatures.values())
    if not wrong:
        observed = f"{samples:,} of {samples:,} samples as declared"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, expected=expected)]
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=f"{told} in {tally.count:,} of {samples:,} samples{_say_files(tally)}",
            expected=expected,
            where=tally.place,
            measure=float(tally.count),
            bound=0.0,
            hint=hint,
        )
        for told, tally in sorted(wrong.items(), key=lambda item: -item[1].count)
    ]


def _say_files(tally: Tally) -> str:
    """Name the first files; all of them where they are few."""
    files = list(dict.fromkeys(where.file for where in tally.first if where.file))
    if not files:
        return ""
    return f" ({', '.join(files)})" if tally.count <= len(files) else f" (first: {', '.join(files[:3])})"
