"""The one-line fix of what a diagnosis found, in each tool's own words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis.wiring import Hypothesis, Prediction, tap_of
from eagle3_contracts.dialects.explaining import explain

_FLAG_FIXES = {
    "token": "pair state t with x[t + {value}] where rows are made (contract: alignment.token)",
    "d2t": "write d2t as {value} (target id = draft id + d2t is offset, what every engine reads)",
    "theta": "rope_theta = {value:g} in the drafter's config.json (rope_parameters.rope_theta too, transformers 5)",
    "layout": "rope layout {value}: permute q_proj and k_proj, or serve with an engine that rotates that way",
    "residual": "norm_before_residual = {post} in config.json (speculators, vLLM); SGLang, TensorRT-LLM and SpecForge "
    "ignore it and add the state before hidden_norm",
    "recurrent": "norm_output = {post} in config.json (speculators, vLLM, SGLang; SpecForge's flag of that name is "
    "another thing)",
    "head_norm": "norm before lm_head = {value} (SpecForge: norm_output)",
    "embedding_norm": "input_layernorm on the embedding = {value} (ModelOpt: use_input_layernorm_in_first_layer)",
    "hidden_norm": "hidden_norm {value}: chained is ModelOpt 0.43 to 0.47 alone; no engine serves it",
    "input_norm": "norm before fc = {value} (joint: norm_before_fc, per_plane: fc_norm)",
}


def suggest_fixes(contract: Contract, declared: Hypothesis, found: Hypothesis) -> Iterator[str]:
    """Yield one line for each tool that must be told otherwise, to serve the drafter as it was trained."""
    if found.wiring.taps != declared.wiring.taps:
        yield from _tap_fixes(contract, found)
    for name, line in _FLAG_FIXES.items():
        value = found.get(name)
        if value != declared.get(name):
            yield line.format(value=value, post=str(value == "post_norm").lower())
    if found.prediction != declared.prediction:
        yield _target_fix(found.prediction, declared.prediction)


def _tap_fixes(contract: Contract, found: Hypothesis) -> Iterator[str]:
    if len(set(found.wiring.taps)) < len(found.wiring.taps):
        yield "no tool's list of ids gives one boundary twice: look at what the capture stored for each plane"
        return
    variant = _with_input(contract, found)
    rows = [row for row in explain(variant)["dialects"] if row["purpose"] in {"serve", "train"}]
    served = [row for row in rows if row["served"]]
    latest = {(row["tool"], row["setting"]): row for row in rows if not row["served"]}
    tools = {row["tool"] for row in served}
    for row in [*served, *(row for row in latest.values() if row["tool"] not in tools)]:
        yield _tool_line(row)


def _tool_line(row: dict[str, Any]) -> str:
    who = " ".join(part for part in (row["tool"], row["versions"]) if part)
    if row["ids"] is None:
        return f"{who}: {row['reason'] or 'not verified'}"
    return f"{who}: ids {row['ids']} ({row['takes']})"


def _with_input(contract: Contract, found: Hypothesis) -> Contract:
    """Give the contract whose drafter takes the planes that were found, with planes for those it does not declare."""
    names = {tap_of(plane): plane.name for plane in contract.planes}
    values = contract.model_dump(mode="json", by_alias=True)
    for tap in found.wiring.taps:
        if tap not in names:
            names[tap] = f"r{tap.boundary}" + ("_post" if tap.state == "post_norm" else "")
            values["planes"].append({"name": names[tap], "boundary": tap.boundary, "state": tap.state})
    values["drafter"]["input"] = [names[tap] for tap in found.wiring.taps]
    return Contract.model_validate_json(json.dumps(values))


def _target_fix(found: Prediction, declared: Prediction) -> str:
    return f"train again on {declared}, not on {found}: no server setting mends what was learned"
