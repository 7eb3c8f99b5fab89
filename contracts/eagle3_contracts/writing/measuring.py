"""What captured states say: format, dtype, norms. Conventions are never inferred from them, only contradicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects import Options, SubjectError
from eagle3_contracts.subjects.datasets.inspecting import tell_embedding
from eagle3_contracts.writing.facts import Facts
from eagle3_contracts.writing.plane_facts import Captured, Ids
from eagle3_contracts.writing.trainers import Trainer

if TYPE_CHECKING:
    from eagle3_contracts.evidence import DatasetEvidence

WIDENED = 2.0
"""The range reaches from the measured median divided by this to the median times this.

Medians of one boundary move by a tenth between kinds of text (SmolLM2-135M, contracts/catalog), those of boundaries
further apart by more than twice.
"""


def read_states(path: str, trainer: Trainer, options: Options) -> DatasetEvidence:
    """Read the dataset; ``SubjectError`` if it is none of the trainer's, or nothing in it can be measured."""
    from eagle3_contracts.subjects.datasets.reading import open_source, read_dataset

    evidence = read_dataset(open_source(path, path, None, options)).evidence
    if not trainer.formats:
        raise SubjectError(path, f"{trainer.label} keeps no states on disk", remedy="leave --hidden-states out")
    if evidence.format is None or not evidence.samples:
        why = evidence.problems[0].reason if evidence.problems else "no sample was read"
        remedy = evidence.problems[0].remedy if evidence.problems else "give the folder of captured states"
        raise SubjectError(path, f"cannot be measured: {why}", remedy=remedy)
    if evidence.format not in trainer.formats:
        reason = f"is of format {evidence.format}, and {trainer.label} reads {', '.join(trainer.formats)}"
        raise SubjectError(path, reason, remedy="name the trainer that these states were captured for: --trainer")
    return evidence


def ids_beside(evidence: DatasetEvidence) -> Ids | None:
    """Give the ids that speculators 0.3 to 0.5 wrote beside the data, with their version."""
    config = evidence.declared.get("data_config")
    if not isinstance(config, dict) or not isinstance(config.get("hidden_states"), dict):
        return None
    listed, version = config["hidden_states"].get("layer_ids"), config.get("speculators_version")
    if not isinstance(listed, list) or not listed or not all(type(item) is int for item in listed):
        return None
    return Ids(
        tuple(listed), "data_config.json: hidden_states.layer_ids", version if isinstance(version, str) else None
    )


def note_states(path: str, evidence: DatasetEvidence, captured: Captured, facts: Facts) -> None:
    """Note dtype and ranges of norms; raise ``SubjectError`` where the states are not those of the contract."""
    _refuse_contradictions(path, evidence, captured, facts)
    _note_dtype(path, evidence, facts)
    for plane, record in zip(_stored_planes(facts), evidence.planes, strict=True):
        if record.norms.count and record.norms.median > 0:
            middle = record.norms.median
            counts = f"{evidence.files_read} of {evidence.files_found} files, {record.norms.count:,} tokens"
            origin = (
                f"measured on {counts} of format {evidence.format}: median {middle:.4g}; the range is that divided by "
                f"{WIDENED:g} to that times {WIDENED:g}"
            )
            plane["norm"] = {"median": [_round(middle / WIDENED), _round(middle * WIDENED)], "origin": origin}
        else:
            facts.left_out[f"planes.{plane['name']}.norm"] = "no value of this plane was measured"


def flagged_final(evidence: DatasetEvidence) -> str | None:
    """Give the state of the last plane that ModelOpt's and TorchSpec's files declare."""
    flag = evidence.declared.get("hidden_states_prenorm")
    return {True: "pre_norm", False: "post_norm"}.get(flag) if isinstance(flag, bool) else None


def _refuse_contradictions(path: str, evidence: DatasetEvidence, captured: Captured, facts: Facts) -> None:
    wide, names = facts.value("target.hidden_size"), facts.value("storage.planes")
    counts = sorted({signature.planes for signature in evidence.signatures})
    widths = sorted({width for one in evidence.signatures for width in one.widths})
    remedy = "give the ids that it was captured with: --layer-ids, or --draft-config with them"
    if counts != [len(captured.stored)]:
        told = " or ".join(map(str, counts))
        reason = f"holds {told} planes, and these ids store {len(captured.stored)}: {', '.join(names)}"
        raise SubjectError(path, reason, remedy=remedy)
    if widths != [wide]:
        reason = f"has planes {' and '.join(map(str, widths))} wide, and the target's are {wide}"
        raise SubjectError(path, reason, remedy="give the target that it was captured from: --target")
    for tap, record in zip(captured.stored, evidence.planes, strict=True):
        embedding = tell_embedding(record)
        if embedding is not None and embedding is not (tap.boundary == 0):
            found = "the embedding's output" if embedding else "not the embedding's output"
            place = f"plane {captured.stored.index(tap)}"
            reason = (
                f"{place} is {found} ({record.repeat_equal} of {record.repeat_pairs} repeated tokens have equal rows)"
            )
            raise SubjectError(path, f"{reason}, and these ids make it {tap}", remedy=remedy)


def _note_dtype(path: str, evidence: DatasetEvidence, facts: Facts) -> None:
    from eagle3_contracts.contract.formats import HABITS

    dtypes = sorted({dtype for one in evidence.signatures for dtype in one.dtypes})
    if len(dtypes) != 1:
        reason = f"stores states in {' and '.join(dtypes)}, and a contract states one dtype"
        raise SubjectError(path, reason, remedy="give the states of one capture")
    habit = next((habit.dtype for name, habit in HABITS.items() if name == evidence.format), None)
    if habit is None and dtypes[0] != facts.value("target.dtype"):
        facts.find("storage.dtype", dtypes[0], f"the files' headers ({evidence.samples} samples)")


def _stored_planes(facts: Facts) -> list[dict[str, Any]]:
    by_name = {plane["name"]: plane for plane in facts.value("planes")}
    return [by_name[name] for name in facts.value("storage.planes")]


def _round(value: float) -> float:
    return float(f"{value:.4g}")
