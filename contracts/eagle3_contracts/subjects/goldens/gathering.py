"""From a recording's folder to evidence: what is damaged becomes a problem of the evidence, never an exception."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.recorded import draft_shapes, state_shapes
from eagle3_contracts.evidence import CheckpointEvidence, GoldenEvidence, Problem, RecordedSequence
from eagle3_contracts.evidence.golden import find_misfit, shapes_of
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.datasets.walking import printable
from eagle3_contracts.subjects.goldens.agreeing import choose_sequences, hold_against_target, open_reference
from eagle3_contracts.subjects.goldens.drafting import draft_again
from eagle3_contracts.subjects.goldens.manifest import Manifest, installed_versions, list_files, read_manifest
from eagle3_contracts.subjects.goldens.restoring import file_digest, restore_command
from eagle3_contracts.subjects.goldens.tensors import (
    DRAFTS,
    STATES,
    Tensors,
    describe_sequence,
    open_tensors,
)
from eagle3_contracts.subjects.targets.agreement import DIGEST_CAP
from eagle3_contracts.subjects.targets.tensors import find_files, weights_digest

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target


def gather_evidence(contract: Contract, subject: Subject, options: Options) -> GoldenEvidence:
    """Read a recording and run its target and drafter again; see ``gather``."""
    folder = Path(subject.value)
    manifest = read_manifest(folder, restore_command(folder))
    if isinstance(manifest, Problem):
        return GoldenEvidence(subject.label, options.scan, problems=(manifest,))
    values = options.scan != "headers"
    states, broken = open_tensors(folder, STATES, restore_command(folder))
    drafts, broken_drafts = open_tensors(folder, DRAFTS, restore_command(folder))
    sequences = tuple(
        describe_sequence(item, states, drafts, contract.target.vocab_size, values=values)
        for item in manifest.sequences
    )
    evidence = GoldenEvidence(
        subject=subject.label,
        scan=options.scan,
        contract=manifest.text("contract"),
        digest=manifest.text("contract_digest"),
        route=manifest.text("route").partition(",")[0].strip(),
        target_digest=manifest.text("target_sha256") or _digest_target(folder),
        versions=manifest.versions,
        installed=installed_versions(tuple(manifest.versions)),
        files=list_files(folder, manifest, file_digest if values else _no_digest),
        sequences=sequences,
        drafter=_read_drafter(contract, subject, folder),
        problems=(*_outside(manifest), *broken, *broken_drafts),
    )
    return _run(evidence, contract, folder, options, states, drafts) if values else evidence


def _run(
    evidence: GoldenEvidence, contract: Contract, folder: Path, options: Options, states: Tensors, drafts: Tensors
) -> GoldenEvidence:
    """Run target and drafter on what can be compared."""
    uncompared = _find_uncomparable(contract, evidence.sequences)
    undrafted = {
        item.number: f"sequence {item.number}: {told}"
        for item in evidence.sequences
        if len(item.token_ids) > 1 and (told := uncompared.get(item.number) or _drafts_misfit(contract, item))
    }
    evidence = dataclasses.replace(evidence, uncompared=uncompared, undrafted=undrafted)
    sound = [item for item in evidence.sequences if item.number not in uncompared]
    chosen = choose_sequences(sound, all_of_them=options.scan == "full") if sound else []
    target = open_reference(contract, folder, options, evidence.route)
    if isinstance(target, Problem):
        evidence = dataclasses.replace(evidence, problems=(*evidence.problems, target))
    elif target is not None and chosen:
        evidence = _hold(evidence, states, chosen, target)
    drafted = [item for item in chosen if item.number not in undrafted and len(item.token_ids) > 1]
    if evidence.drafter is None or not drafted:
        return evidence
    lender = Path(options.target) if options.target else folder / "target"
    return draft_again(evidence, contract, folder, lender if lender.exists() else None, drafted, states, drafts)


def _hold(
    evidence: GoldenEvidence, states: Tensors, chosen: Sequence[RecordedSequence], target: Target
) -> GoldenEvidence:
    found = hold_against_target(evidence, states, chosen, target)
    if found.routes:
        return found
    reason = f"the target at hand reaches the rung {target.rung!s} only: {'; '.join(target.notes)}"
    problem = Problem("target", reason, "give a target that holds all weights: --contract-target DIR")
    return dataclasses.replace(found, problems=(*found.problems, problem))


def _find_uncomparable(contract: Contract, sequences: Sequence[RecordedSequence]) -> Mapping[int, str]:
    """Say of each sequence that cannot be run why: no tokens, ids of another vocabulary, tensors of other shapes."""
    size = contract.target.vocab_size
    found = {}
    for item in sequences:
        shapes = state_shapes(contract, len(item.token_ids), shapes_of(item.states))
        told = find_misfit(item.states, shapes) or item.kept_fault
        if not item.token_ids:
            told = "it has no tokens"
        elif min(item.token_ids) < 0 or max(item.token_ids) >= size:
            told = f"token ids {min(item.token_ids)}..{max(item.token_ids)} leave the vocabulary of {size}"
        if told:
            found[item.number] = f"sequence {item.number}: {told}"
    return found


def _drafts_misfit(contract: Contract, item: RecordedSequence) -> str:
    return find_misfit(item.drafts, draft_shapes(contract, len(item.token_ids), shapes_of(item.drafts)))


def _outside(manifest: Manifest) -> list[Problem]:
    reason = "names a file outside the recording: {!r}"
    remedy = "record again: files of a recording lie in its folder"
    return [
        Problem("unsafe", reason.format(name[:200]), remedy, Where(file=printable(name))) for name in manifest.outside
    ]


def _digest_target(folder: Path) -> str:
    """Give the digest of the target's weights that lie in the recording; "" where none do, or they are very large."""
    try:
        files = find_files(folder / "target")
    except SubjectError:
        return ""
    size = sum(path.stat().st_size for path in files.files)
    return "" if files.missing or size > DIGEST_CAP else weights_digest(files.files)


def _read_drafter(contract: Contract, subject: Subject, folder: Path) -> CheckpointEvidence | None:
    """Read names and shapes of the drafter in the recording; its own stage reads the values."""
    from eagle3_contracts.subjects.checkpoints.reading import read_checkpoint_evidence

    if not (folder / "drafter").is_dir():
        return None
    own = Subject("checkpoint", str(folder / "drafter"), subject.label)
    return read_checkpoint_evidence(contract, own, Options(scan="headers"))


def _no_digest(path: Path) -> str:
    del path
    return ""
