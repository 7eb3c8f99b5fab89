"""Values of config.json that a flag overrides, held against what the contract declares and what the configs say.

SGLang hands --json-model-override-args to the target's config and to the draft's (configs/model_config.py,
from_server_args, read in 0.5.23); vLLM hands --hf-overrides to the target's alone (config/speculative.py,
compose_draft_hf_overrides, read in 0.33.0: a table is not handed on).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eagle3_contracts.clauses.launch.asking import ask, captures_only, find_obstacle, where_of
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Argument, LaunchEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause

FLAGS = {"sglang": "--json-model-override-args", "vllm": "--hf-overrides"}
POSITIONS = frozenset(
    {"rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "max_position_embeddings"}
)
"""Keys that decide how positions are turned, and how many there are."""
_ROPE_TABLES = ("rope_parameters", "rope_scaling")
_UNSAID = object()


@dataclass(frozen=True, slots=True)
class _Part:
    """``declared``: what the contract says in config.json's words. ``config``: the part's own, if it was read."""

    name: str
    declared: Mapping[str, Any]
    config: Mapping[str, Any]

    def original(self, key: str) -> Any:
        """Give what the key stands at without the flag; ``_UNSAID`` where neither contract nor config says it."""
        if key in self.declared:
            return self.declared[key]
        if key in _ROPE_TABLES and self.config:
            return next((self.config[name] for name in _ROPE_TABLES if self.config.get(name) is not None), None)
        table = self.config.get("rope_parameters")
        nested = table if key == "rope_theta" and isinstance(table, Mapping) else {}
        return self.config.get(key, nested.get(key, _UNSAID))


def judge_overrides(clause: Clause, contract: Contract, evidence: LaunchEvidence, *, positions: bool) -> list[Finding]:
    """Fail for each key that is set to another value than a model has; errored where that value is not known here.

    ``positions``: judge the keys of ``POSITIONS``, else all others. Nothing is found where the flag changes nothing.
    """
    argument = _last(evidence)
    if argument is None:
        return []
    answer = ask(evidence, argument.name)
    if argument.open and answer.obstacle is not None:
        return [answer.obstacle.finding(clause, evidence.subject)]
    table = read_overrides(evidence)
    if table is None:
        told = f"{argument.written} is no table in JSON, so that the server stops"
        hint = f"write it as JSON in single quotes: {argument.written} '{{\"KEY\": VALUE}}'"
        return [Obstacle(told, hint, where_of(evidence, argument)).finding(clause, evidence.subject)]
    said = [
        (part.name, key, value, part.original(key))
        for part in _parts(contract, evidence)
        for key, value in table.items()
        if (key in POSITIONS) == positions and not _keeps(part, key, value)
    ]
    wrong = [item for item in said if item[3] is not _UNSAID]
    if wrong:
        return [_state(clause, evidence, argument, *item) for item in wrong]
    return [_leave_open(evidence, argument, *item[:3]).finding(clause, evidence.subject) for item in said[:1]]


def read_overrides(evidence: LaunchEvidence) -> Mapping[str, Any] | None:
    """Give the keys that are overridden, those of a nested language model among them; None for what is no table."""
    argument = _last(evidence)
    found: dict[str, Any] = {}
    for item in evidence.arguments:
        text = item.values[0].text if item.values else ""
        if item.key and argument is not None and item.name == argument.name:
            first, _, rest = item.key.partition(".")
            found[first.replace("-", "_")] = {rest: _plain(text)} if rest else _plain(text)
        elif item is argument:
            value = _plain(text)
            if not isinstance(value, Mapping):
                return None
            found |= value
    nested = found.pop("text_config", {})
    return found | dict(nested) if isinstance(nested, Mapping) else None


def _last(evidence: LaunchEvidence) -> Argument | None:
    if find_obstacle(evidence) is not None:
        return None
    named = [item for item in evidence.arguments if item.name == FLAGS.get(evidence.engine)]
    return next((item for item in reversed(named) if not item.key), named[-1] if named else None)


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _parts(contract: Contract, evidence: LaunchEvidence) -> Iterator[_Part]:
    """Give the models that the flag reaches, the drafter first, of which the contract declares more."""
    target, drafter = contract.target, contract.drafter
    widths = {"hidden_size": drafter.hidden_size, "intermediate_size": drafter.intermediate_size}
    if evidence.engine == "sglang" and not captures_only(evidence):
        rope = drafter.rope.model_dump(exclude_none=True, exclude={"theta", "type", "layout", "mrope_interleaved"})
        names = {"original_max_position": "original_max_position_embeddings", "partial_factor": "partial_rotary_factor"}
        turned = {
            names.get(key, key): list(value) if isinstance(value, tuple) else value for key, value in rope.items()
        }
        turned |= {"rope_theta": drafter.rope.theta, "rope_type": drafter.rope.type}
        declared = {
            **widths,
            "num_hidden_layers": drafter.layers,
            "vocab_size": target.vocab_size,
            "draft_vocab_size": drafter.draft_vocab_size,
            "hidden_act": drafter.activation,
            "rms_norm_eps": (drafter.norm or target.norm).eps,
            "max_position_embeddings": drafter.max_position,
            "rope_theta": drafter.rope.theta,
            "partial_rotary_factor": drafter.rope.partial_factor,
            **dict.fromkeys(_ROPE_TABLES, turned),
            **dict.fromkeys(("dtype", "torch_dtype"), drafter.dtype or target.dtype),
        }
        yield _Part("drafter", declared, _config(evidence.draft.config if evidence.draft else None))
    own = _config(evidence.target.config if evidence.target else None)
    stated: dict[str, Any] = {key: getattr(target, key) for key in ("hidden_size", "num_hidden_layers", "vocab_size")}
    stated |= {"architectures": [target.architecture], "rms_norm_eps": target.norm.eps}
    stated |= dict.fromkeys(("dtype", "torch_dtype"), target.dtype)
    yield _Part("target", stated, own)


def _config(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Give a config with the language model's table laid over it."""
    nested = (config or {}).get("text_config")
    return {**(config or {}), **(nested if isinstance(nested, Mapping) else {})}


def _keeps(part: _Part, key: str, value: Any) -> bool:
    """Tell whether a part stays what it is: the same value, or positions that no state depends on."""
    original = part.original(key)
    if key == "max_position_embeddings":
        return part.name == "target" or (type(value) is int and value <= original)
    if key not in _ROPE_TABLES or original is _UNSAID:
        return bool(value == original)
    table = _turning(original)
    return all(table.get(name) == item for name, item in _turning(value).items())


def _turning(table: Any) -> dict[str, Any]:
    """Give a table of rotary parameters with the kind under its newer name."""
    if not isinstance(table, Mapping):
        return {"rope_type": "default"}
    kind = table.get("rope_type", table.get("type"))
    return {key: value for key, value in table.items() if key != "type"} | ({"rope_type": kind} if kind else {})


def _state(
    clause: Clause, evidence: LaunchEvidence, argument: Argument, part: str, key: str, value: Any, original: Any
) -> Finding:
    reached = "target and drafter alike" if evidence.engine == "sglang" else "the target"
    if key in _ROPE_TABLES:
        original = {name: _turning(original).get(name) for name in _turning(value)}
    had = _brief(original)
    meant = "its states are others than those trained on" if part == "target" else "it is another than was trained"
    return clause.find(
        Verdict.FAILED,
        evidence.subject,
        observed=f"{argument.written} sets {key} to {_brief(value)} for {reached}, and the {part} has {had}: {meant}",
        expected=f"{key} at {had} for the {part}",
        where=where_of(evidence, argument),
        measure=1.0,
        bound=0.0,
        hint=f"leave {key} out of {argument.name}: what a model needs belongs into its own config.json",
    )


def _leave_open(evidence: LaunchEvidence, argument: Argument, part: str, key: str, value: Any) -> Obstacle:
    told = f"{argument.written} sets {key} to {_brief(value)}, and neither the contract nor a config.json that is here"
    hint = f"leave {key} out, or name the {part} by a folder that is here"
    return Obstacle(f"{told} says what the {part} has", hint, where_of(evidence, argument))


def _brief(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 120 else f"{text[:117]}..."
