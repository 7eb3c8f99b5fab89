"""A new contract, from what can be found out: the target, the trainer, the drafter's config, captured states."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eagle3_contracts import __version__
from eagle3_contracts.boundaries import Tap
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.contract.writing import SCHEMA_LINE, write_contract
from eagle3_contracts.subjects import Options, SubjectError
from eagle3_contracts.subjects.targets.agreement import read_config
from eagle3_contracts.writing.drafter_facts import note_drafter
from eagle3_contracts.writing.facts import Facts
from eagle3_contracts.writing.measuring import flagged_final, ids_beside, note_states, read_states
from eagle3_contracts.writing.plane_facts import Captured, capture_planes, find_ids
from eagle3_contracts.writing.target_facts import note_target, read_target_config
from eagle3_contracts.writing.trainers import TRAINERS, Trainer

LENT = "smollm2-135m-eagle3@1.0.1"
"""The contract whose measured tolerances a target borrows until somebody measures its own."""

OLDER = "files of this format come from speculators 0.3 to 0.5, and 0.3 and 0.4 capture 3, n//2 + 1, n - 2 by default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What ``new`` is asked for."""

    target: Path
    trainer: str
    hidden_states: str | None = None
    draft_config: Path | None = None
    layer_ids: Sequence[int] | None = None
    name: str | None = None
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class Composed:
    """A contract, its text with comments, and what it rests on."""

    contract: Contract
    text: str
    facts: Facts


def compose(request: Request) -> Composed:
    """Compose a valid contract. Raises ``SubjectError`` for what cannot be found out and cannot be assumed."""
    trainer = TRAINERS[request.trainer]
    target = read_target_config(request.target)
    draft = _read_draft(request.draft_config)
    facts = Facts()
    note_target(target, facts)
    note_drafter(trainer, target, draft, facts)
    evidence = None
    ids = find_ids(trainer, draft, request.layer_ids)
    if request.hidden_states is not None:
        evidence = read_states(request.hidden_states, trainer, request.options)
        beside = ids_beside(evidence)
        ids = beside if beside is not None and request.layer_ids is None else ids
    captured = capture_planes(trainer, ids, facts)
    if evidence is not None and request.hidden_states is not None:
        captured = _heed_flag(flagged_final(evidence), captured, facts)
        note_states(request.hidden_states, evidence, captured, facts)
        if evidence.format == "speculators-v1" and ids.listed is None:
            facts.assume("planes", facts.value("planes"), f"{facts.assumed['planes'].origin}; {OLDER}")
    else:
        facts.left_out["planes.norm"] = "ranges of norms, since nobody measured; --hidden-states DIR measures them"
    _note_document(request, trainer, facts)
    contract = Contract.model_validate_json(json.dumps(facts.document()))
    return Composed(contract, _write(contract, request, facts), facts)


def _read_draft(path: Path | None) -> Mapping[str, Any] | None:
    if path is None:
        return None
    return read_config(path / "config.json" if path.is_dir() else path)


def _heed_flag(state: str | None, captured: Captured, facts: Facts) -> Captured:
    """Take the final state from what the files declare of it, where they do."""
    last = captured.last
    if state is None or last is None or last.state in {"raw", state}:
        return captured
    name = facts.value("drafter.last_hidden")
    for plane in facts.value("planes"):
        if plane["name"] == name:
            plane["state"] = state
    facts.find("drafter.last_hidden", name, f"the files say hidden_states_prenorm = {str(state == 'pre_norm').lower()}")
    return Captured(captured.fed, Tap(last.boundary, "pre_norm" if state == "pre_norm" else "post_norm"))


def _note_document(request: Request, trainer: Trainer, facts: Facts) -> None:
    model = str(facts.value("target.model"))
    name = request.name or re.sub(r"[^a-z0-9.-]+", "-", model.rpartition("/")[2].lower()).strip("-.") + "-eagle3"
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name):
        raise SubjectError(
            name, "is no name for a contract", remedy="write lower case letters, digits, . and -: --name"
        )
    facts.find("schema", 1, "the format")
    facts.find("name", name, "--name" if request.name else "the target's name")
    facts.find("version", "1.0.0", "a first version")
    facts.find("summary", f"{trainer.tool}'s drafter for {model}, as far as could be found out.", "target and trainer")
    sources = [
        f"Target: {request.target.name} of {model}.",
        f"Conventions: {trainer.label}, as this project read it.",
    ]
    if request.draft_config is not None:
        sources.append(f"Drafter: {request.draft_config.name}.")
    facts.find("sources", sources, "the arguments")
    facts.left_out["serving"] = "the engines that will serve it; `eagle3-contracts explain` says which can"
    _note_tolerance(facts)


def _note_tolerance(facts: Facts) -> None:
    """Lend the tolerances of the measured target, each saying that it was not measured on this one."""
    needed = {facts.value("target.dtype")}
    if "storage.dtype" in facts.found:
        needed.add(facts.value("storage.dtype"))
    lent = load_contract(LENT).tolerance
    for dtype, tolerance in lent.items():
        if dtype in needed:
            values = tolerance.model_dump(mode="json")
            values["origin"] = f"not measured on this target; on {LENT}: {tolerance.origin}"
            facts.assume(f"tolerance.{dtype}", values, f"the bounds of {LENT}, until this target's own are measured")
    for dtype in sorted(needed - set(lent)):
        facts.left_out[f"tolerance.{dtype}"] = f"nobody measured what a correct artifact in {dtype} differs by"


def _write(contract: Contract, request: Request, facts: Facts) -> str:
    head = [
        f"# Written by eagle3-contracts {__version__}: new --target {request.target.name} --trainer {request.trainer}",
        "# A line that says `assumed` was not found out: confirm it, or mend it.",
    ]
    body = write_contract(contract, facts.remarks()).removeprefix(f"{SCHEMA_LINE}\n")
    return "\n".join(head) + "\n" + body
