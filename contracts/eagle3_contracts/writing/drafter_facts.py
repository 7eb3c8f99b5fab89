"""The drafter's own shape: from its config if there is one, else what the trainer makes of the target's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from eagle3_contracts.consumers.configs import layer_table, look_up
from eagle3_contracts.consumers.ropes import RopeReading, read_rope
from eagle3_contracts.contract.formats import Dtype
from eagle3_contracts.contract.rope import SCALING_OF, Rope
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.writing.facts import Facts
from eagle3_contracts.writing.target_facts import TargetConfig
from eagle3_contracts.writing.trainers import Trainer

_MLA = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


@dataclass(frozen=True, slots=True)
class Shape:
    """Where sizes are read: a table with transformers' names, and what it is. ``stated``: it is the drafter's own."""

    table: Mapping[str, Any]
    source: str
    stated: bool

    def count(self, *keys: str) -> int | None:
        """Give the first of the keys that is a whole number above 0."""
        values = (self.table.get(key) for key in keys)
        return next((value for value in values if type(value) is int and value > 0), None)

    def note(self, facts: Facts, place: str, value: Any, what: str) -> None:
        """Note a value of this table: found if it is the drafter's own, else assumed."""
        if self.stated:
            facts.find(place, value, f"{self.source}: {what}")
        else:
            facts.assume(place, value, f"{what} of {self.source}; --draft-config would say")


def note_drafter(trainer: Trainer, target: TargetConfig, draft: Mapping[str, Any] | None, facts: Facts) -> None:
    """Note every field of ``[drafter]`` but its planes, and ``[alignment]``."""
    for place, said in trainer.rules.items():
        facts.find(place, said.value, f"{trainer.label}: {said.source}")
    for place, said in trainer.defaults.items():
        facts.assume(place, said.value, f"the default of {trainer.label}, {said.source}")
    shape = _shape(trainer, target, draft)
    wide = shape.count("hidden_size") or target.count("hidden_size")
    shape.note(facts, "drafter.hidden_size", wide, "hidden_size")
    _note_attention(shape, wide, facts)
    _note_sizes(shape, target, facts)
    _note_norm(shape, facts)
    _note_rope(shape, facts)
    _note_vocabulary(trainer, draft, facts)
    if draft is not None:
        _note_flags(trainer, draft, facts)
    _note_borrowing(facts)


def _shape(trainer: Trainer, target: TargetConfig, draft: Mapping[str, Any] | None) -> Shape:
    if draft is not None:
        return Shape(layer_table(draft), "the draft config", stated=True)
    if trainer.shape is not None:
        fixed = {**trainer.shape.value, "hidden_size": target.count("hidden_size")}
        fixed["max_position_embeddings"] = target.get("max_position_embeddings")
        return Shape(fixed, f"{trainer.label}'s defaults ({trainer.shape.source})", stated=False)
    return Shape(target.table, f"the target, as {trainer.label} takes it over", stated=False)


def _note_attention(shape: Shape, wide: int, facts: Facts) -> None:
    heads = shape.count("num_attention_heads", "n_head")
    if heads is None:
        raise SubjectError(
            shape.source, "says nothing of num_attention_heads", remedy="give --draft-config config.json"
        )
    bias = bool(shape.table.get("attention_bias", False))
    if shape.stated and shape.count("kv_lora_rank"):
        sizes = {key: shape.count(key) for key in _MLA}
        facts.find("drafter.attention", {"kind": "mla", "heads": heads, **_present(sizes), "bias": bias}, shape.source)
        return
    attention: dict[str, Any] = {
        "kind": "gqa",
        "heads": heads,
        "kv_heads": shape.count("num_key_value_heads") or heads,
        "head_dim": shape.count("head_dim") or max(1, wide // heads),
        "qk_norm": shape.stated and shape.table.get("model_type") in {"qwen3", "qwen3_moe"},
        "bias": bias,
    }
    if shape.stated and shape.table.get("use_sliding_window"):
        attention |= _present({"sliding_window": shape.count("sliding_window")})
    shape.note(facts, "drafter.attention", attention, "num_attention_heads, num_key_value_heads, head_dim, bias")


def _note_sizes(shape: Shape, target: TargetConfig, facts: Facts) -> None:
    inner = shape.count("intermediate_size")
    if inner is None:
        raise SubjectError(shape.source, "says nothing of intermediate_size", remedy="give --draft-config config.json")
    shape.note(facts, "drafter.intermediate_size", inner, "intermediate_size")
    if shape.stated and (layers := shape.count("num_hidden_layers")):
        facts.find("drafter.layers", layers, f"{shape.source}: num_hidden_layers")
    positions = shape.count("max_position_embeddings")
    if positions is None:
        positions = target.table.get("max_position_embeddings")
        positions = positions if type(positions) is int and positions > 0 else 2048
        facts.assume("drafter.max_position", positions, "the positions of training are the trainer's max_length")
    else:
        shape.note(facts, "drafter.max_position", positions, "max_position_embeddings")
    activation = shape.table.get("hidden_act")
    if shape.stated and isinstance(activation, str):
        facts.find("drafter.activation", activation, f"{shape.source}: hidden_act")
    dtype = str(shape.table.get("dtype", shape.table.get("torch_dtype"))).removeprefix("torch.")
    if shape.stated and dtype in get_args(Dtype):
        facts.find("drafter.dtype", dtype, f"{shape.source}: dtype")


def _note_norm(shape: Shape, facts: Facts) -> None:
    """Note plain RMS norms: every trainer's drafter has Llama's, whatever the target's are."""
    eps = shape.table.get("rms_norm_eps")
    if not isinstance(eps, int | float) or isinstance(eps, bool) or eps <= 0:
        eps = facts.value("target.norm")["eps"]
    norm = {"kind": "rms", "plus_one": False, "eps": float(eps)}
    shape.note(facts, "drafter.norm", norm, "rms_norm_eps")


def _note_rope(shape: Shape, facts: Facts) -> None:
    table = dict(shape.table)
    parameters = table.get("rope_parameters")
    if isinstance(parameters, Mapping) and isinstance(parameters.get("full_attention"), Mapping):
        table["rope_parameters"] = parameters["full_attention"]
    reading = read_rope(table)
    rope, doubt = _rope_table(reading, shape.count("original_max_position_embeddings", "max_position_embeddings"))
    if doubt:
        facts.assume("drafter.rope", rope, doubt)
    else:
        shape.note(facts, "drafter.rope", rope, "rope_theta and rope_scaling, or rope_parameters")


def _rope_table(reading: RopeReading, positions: int | None) -> tuple[dict[str, Any], str]:
    """Give the contract's table, with the parameters that its kind takes; a doubt where the kind is unknown."""
    plain = {"theta": reading.theta, "layout": reading.layout, "partial_factor": reading.partial_factor}
    if reading.type not in SCALING_OF:
        return plain, f"schema 1 has no rotary scaling {reading.type[:40]!r}; the base alone stands here"
    given = {name: value for name, value in reading.parameters if name in SCALING_OF[reading.type]}
    if "original_max_position" in SCALING_OF[reading.type] and reading.type != "dynamic" and positions:
        given.setdefault("original_max_position", positions)
    given |= {name: value for name, value in reading.parameters if name.startswith("mrope")}
    rope = {**plain, "type": reading.type, **given}
    try:
        Rope.model_validate(rope)
    except ValueError:
        return plain, f"the parameters of {reading} are incomplete; the base alone stands here"
    return {key: list(value) if isinstance(value, tuple) else value for key, value in rope.items()}, ""


def _note_vocabulary(trainer: Trainer, draft: Mapping[str, Any] | None, facts: Facts) -> None:
    whole = facts.value("target.vocab_size")
    _, stated = look_up(draft or {}, ("draft_vocab_size",))
    if type(stated) is int and stated > 0:
        rows = stated
        facts.find("drafter.draft_vocab_size", rows, "the draft config: draft_vocab_size")
    else:
        said = trainer.draft_vocab
        rows = whole if said.value is None else min(whole, said.value)
        facts.assume("drafter.draft_vocab_size", rows, f"the default of {trainer.label}, {said.source}")
    if rows == whole:
        facts.find("drafter.d2t", "none", "the draft vocabulary is the target's")
        if facts.value("drafter.lm_head") == "target_rows":
            facts.find("drafter.lm_head", "target", f"{trainer.label}: the target's whole head, frozen")


def _note_flags(trainer: Trainer, draft: Mapping[str, Any], facts: Facts) -> None:
    """Note what the draft config's flags mean to this trainer, and its class."""
    for flag in trainer.flags:
        _, value = look_up(draft, flag.path)
        meant = flag.true if value is True else flag.false
        if isinstance(value, bool) and meant is not None:
            facts.find(flag.place, meant, f"the draft config: {'.'.join(flag.path)} = {str(value).lower()}")
    named = draft.get("architectures")
    if isinstance(named, list) and named and isinstance(named[0], str) and named[0]:
        facts.find("drafter.architecture", named[0], "the draft config: architectures")


def _note_borrowing(facts: Facts) -> None:
    """Keep embedding and head the drafter's own where the target's would not fit."""
    wide, target = facts.value("drafter.hidden_size"), facts.value("target.hidden_size")
    if wide == target:
        return
    for place in ("drafter.embedding", "drafter.lm_head"):
        if facts.value(place) != "own":
            facts.find(place, "own", f"the drafter is {wide} wide and the target {target}")


def _present(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}
