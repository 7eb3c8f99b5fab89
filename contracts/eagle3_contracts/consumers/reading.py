"""What a consumer makes of a checkpoint: taps, fc, flags, tensors, and how far it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from packaging.specifiers import SpecifierSet

from eagle3_contracts.consumers.config_types import find_wrong_types
from eagle3_contracts.consumers.configs import Config, named_class, read_flag, serving_config
from eagle3_contracts.consumers.consumer import Consumer, Feature
from eagle3_contracts.consumers.parameters import Facts, build_parameters
from eagle3_contracts.consumers.ropes import RopeReading, read_rope
from eagle3_contracts.consumers.stray_flags import stray_flags
from eagle3_contracts.consumers.table import CONSUMERS, ENGINES, runners_of
from eagle3_contracts.dialects import NotVerified, Resolution, find_dialect, find_tool
from eagle3_contracts.dialects.config_keys import KeyReading, read_ids
from eagle3_contracts.dialects.plane_counts import DEFAULT_COUNT, PlaneCount, read_plane_count

_LENT = frozenset({"embed_tokens.weight"})
ROTARY_BUFFERS = (
    *("rotary_pos_emb.inv_freq", "rotary_emb.inv_freq"),
    *("rotary_emb.cos_cached", "rotary_emb.sin_cached"),
)
"""Parts of names of what a rotary embedding keeps, which engines compute from config.json. vLLM 0.22.0 to 0.33.0 leaves
them out by these names (model_executor/models/utils.py, AutoWeightsLoader), SGLang's drafter has no such parameter."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What of a checkpoint a consumer looks at: config, tensor names to shapes; and of the target, its own facts.

    ``architecture`` and ``layers`` of the target decide what ids mean; without them taps are not resolved.
    ``plane_width``: the target's hidden size.
    """

    config: Config
    shapes: Mapping[str, tuple[int, ...]]
    architecture: str | None = None
    layers: int | None = None
    plane_width: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How one engine, or a range of its versions, reads a checkpoint.

    ``stops``: why it does not get to loading, empty if it does; ``refused``: tensors that stop it while it loads.
    ``ids``: as passed on, None where it falls back to its default; ``key``: where from; ``passed_over``: places with
    other ids that it does not read. ``taps``: what that captures. ``planes``: fc's width. ``fc_input``: of the
    input, in channels; ``fc_skipped``: it reaches the layer without fc and its norms. ``features``: those that are on.
    ``layers``, ``later_norm``: as built. ``embedding``: whose rows it embeds. ``head``: what it takes for lm_head.
    ``dropped``: stored tensors that it drops without a word; ``idle``: those it loads and never applies;
    ``unfilled``: parameters that no tensor fills. ``flags_ignored``: flags that are set where it does not look.
    """

    engine: str
    versions: tuple[str, ...]
    runner: str = ""
    module: str = ""
    stops: str = ""
    ids: tuple[int, ...] | None = None
    key: str | None = None
    passed_over: tuple[str, ...] = ()
    taps: Resolution | NotVerified | None = None
    planes: int = DEFAULT_COUNT
    fc_input: int | None = None
    fc_skipped: bool = False
    features: frozenset[Feature] = frozenset()
    qk_norm: bool = False
    layers: int = 1
    later_norm: str = ""
    embedding: str = ""
    head: str = ""
    rope: RopeReading | None = None
    dropped: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    unfilled: tuple[str, ...] = ()
    flags_ignored: tuple[str, ...] = ()

    @property
    def span(self) -> str:
        """Name engine, runner and versions: ``vllm v2 0.27.0 to 0.33.0``."""
        first, last = self.versions[0], self.versions[-1]
        versions = first if first == last else f"{first} to {last}"
        return " ".join(part for part in (self.engine, self.runner, versions) if part)

    @property
    def loads(self) -> bool:
        """Tell whether the engine gets the checkpoint loaded."""
        return not self.stops and not self.refused


def read_checkpoint(engine: str, version: str, runner: str, stored: Stored) -> Reading | NotVerified:
    """Read a checkpoint as a version of an engine does. Raises ``KeyError`` for an engine that was not read."""
    if engine not in ENGINES:
        raise KeyError(f"how {engine} reads a checkpoint was not read; there are {', '.join(ENGINES)}")
    config, stops = serving_config(engine, version, stored.config)
    start = Reading(engine, (version,), runner)
    covering = [
        item
        for item in CONSUMERS
        if item.engine == engine and SpecifierSet(item.versions).contains(version, prereleases=True)
    ]
    if not covering:
        last = find_tool(engine).last_read
        return NotVerified(engine, version, stored.architecture or "any", last, "its drafter classes were not read")
    stops = stops or next((str(item) for item in find_wrong_types(stored.config)), "")
    if stops:
        return replace(start, stops=stops)
    name = named_class(engine, config)
    chosen = [item for item in covering if name in item.architectures]
    if not chosen:
        known = ", ".join(sorted({known for item in covering for known in item.architectures}))
        return replace(start, stops=f"it has no drafter class {name or '(none named)'}; there are {known}")
    return _read(start, chosen[0], config, stored)


def read_range(engine: str, versions: str, stored: Stored) -> tuple[Reading | NotVerified, ...]:
    """Read with every version of a range that was read, and every runner; versions that agree stand together."""
    found: list[Reading | NotVerified] = []
    for runner in runners_of(engine):
        last: Reading | NotVerified | None = None
        for version in find_tool(engine).releases(versions):
            reading = read_checkpoint(engine, version, runner, stored)
            if isinstance(reading, Reading) and isinstance(last, Reading) and _alike(last, reading):
                last = replace(last, versions=(*last.versions, version))
                found[-1] = last
            else:
                last = reading
                found.append(reading)
    return tuple(found)


def _alike(one: Reading, other: Reading) -> bool:
    return replace(one, versions=()) == replace(other, versions=())


def _read(start: Reading, consumer: Consumer, config: Config, stored: Stored) -> Reading:
    engine, version = start.engine, start.versions[0]
    ids = read_ids(engine, version, config, runner=start.runner)
    assert isinstance(ids, KeyReading)  # noqa: S101 (the table of consumers covers no other versions)
    if ids.wrong:
        return replace(start, module=consumer.module, stops=ids.wrong, key=ids.key)
    on = {
        feature
        for feature, places in consumer.flags.items()
        if read_flag(places, config, any_of=feature in consumer.any_of)[0]
    }
    layers, width = _whole(config.get("num_hidden_layers"), 1), _whole(config.get("hidden_size"), 0)
    planes = _plane_count(consumer, version, config, ids)
    reading = replace(
        start,
        module=consumer.module,
        stops=_find_stop(consumer, config, layers),
        ids=ids.ids,
        key=ids.key,
        passed_over=tuple(f"{key} {_brief(value)}" for key, value in ids.ignored),
        taps=_resolve(engine, version, ids, stored),
        planes=planes,
        features=frozenset(on),
        qk_norm=consumer.qk_norm,
        layers=layers,
        later_norm=consumer.later_norm,
        embedding=_whose_embedding(consumer, config, stored),
        head=_whose_head(consumer, config, stored),
        rope=read_rope(config, consumer.rope, _channels(consumer, config)),
        flags_ignored=stray_flags(consumer, stored.config),
    )
    return _read_tensors(_read_fc(reading, consumer, width, stored), consumer, config, stored)


def _read_fc(reading: Reading, consumer: Consumer, width: int, stored: Stored) -> Reading:
    """Tell whether fc is applied to what the taps give."""
    taps = reading.taps
    captured = len(taps.taps) if isinstance(taps, Resolution) else reading.planes
    fed = None if stored.plane_width is None else captured * stored.plane_width
    return replace(reading, fc_input=fed, fc_skipped=consumer.fc_needs_other_width and fed == width)


def _read_tensors(reading: Reading, consumer: Consumer, config: Config, stored: Stored) -> Reading:
    on = reading.features
    facts = Facts(
        attention=consumer.attention,
        layers=reading.layers,
        later_norm=consumer.later_norm,
        planes=reading.planes,
        fc_bias="fc_bias" in on,
        joint_norm="joint_norm" in on,
        plane_norms="plane_norms" in on,
        qkv_bias="qkv_bias" in on,
        o_bias="o_bias" in on,
        qk_norm=consumer.qk_norm,
        query_latent=config.get("q_lora_rank") is not None,
        head=reading.head != "embedding",
    )
    built = build_parameters(facts)
    renamed = {name: rename(consumer, name) for name in stored.shapes}
    strays = [
        name for name, known in renamed.items() if known not in built.used | built.idle and not is_harmless(known)
    ]
    quiet = [name for name in strays if consumer.strays == "dropped" or any(text in name for text in consumer.silent)]
    lent = _LENT | ({"lm_head.weight"} if reading.head == "target" else frozenset())
    missing = built.used - set(renamed.values()) - lent
    if not _has_draft_vocabulary(config):
        missing -= {"d2t"}
    return replace(
        reading,
        dropped=tuple(sorted(quiet)),
        refused=tuple(sorted(set(strays) - set(quiet))),
        idle=tuple(sorted(name for name, known in renamed.items() if known in built.idle)),
        unfilled=tuple(sorted(missing)),
    )


def is_harmless(name: str) -> bool:
    """Tell whether a tensor is one that every engine skips and that nothing is lost with: t2d, a rotary buffer."""
    return name == "t2d" or any(part in name for part in ROTARY_BUFFERS)


def rename(consumer: Consumer, name: str) -> str:
    """Give the canonical name that a consumer takes a stored one for."""
    for old, new in consumer.renames:
        name = name.replace(old, new)
    return name


def _find_stop(consumer: Consumer, config: Config, layers: int) -> str:
    if consumer.one_layer and layers != 1:
        return f"it supports 1 layer only (ValueError), the config says {layers}"
    if consumer.wants_draft_vocab and not config.get("tie_word_embeddings") and "draft_vocab_size" not in config:
        return "config.json has no draft_vocab_size (AttributeError)"
    return ""


def _plane_count(consumer: Consumer, version: str, config: Config, ids: KeyReading) -> int:
    if consumer.engine == "tensorrt-llm":
        return len(ids.ids) if ids.ids else DEFAULT_COUNT
    found = read_plane_count(consumer.engine, version, consumer.module, config)
    assert isinstance(found, PlaneCount)  # noqa: S101 (the table of consumers covers no other versions)
    return found.count


def _resolve(engine: str, version: str, ids: KeyReading, stored: Stored) -> Resolution | NotVerified | None:
    if stored.architecture is None or stored.layers is None:
        return None
    dialect = find_dialect(engine, version, stored.architecture)
    if isinstance(dialect, NotVerified):
        return dialect
    return dialect.resolve(ids.ids, stored.layers)


def _whose_embedding(consumer: Consumer, config: Config, stored: Stored) -> str:
    holds = any(rename(consumer, name) == "embed_tokens.weight" for name in stored.shapes)
    width, target = config.get("hidden_size"), config.get("target_hidden_size")
    if consumer.embedding == "target" and (target is None or target == width):
        return "target"
    return "own" if holds else "target" if consumer.embedding == "own" else "random"


def _whose_head(consumer: Consumer, config: Config, stored: Stored) -> str:
    if consumer.tied and config.get("tie_word_embeddings"):
        return "embedding"
    if any(rename(consumer, name) == "lm_head.weight" for name in stored.shapes):
        return "own"
    if consumer.missing_head == "random" and config.get("draft_vocab_size") is None:
        return "target"
    return consumer.missing_head


def _has_draft_vocabulary(config: Config) -> bool:
    draft = config.get("draft_vocab_size")
    return draft is not None and draft != config.get("vocab_size")


def _channels(consumer: Consumer, config: Config) -> str:
    if consumer.rope_style_key and config.get(consumer.rope_style_key) is False:
        return "interleaved"
    return consumer.rope_layout


def _whole(value: Any, default: int) -> int:
    return value if type(value) is int else default


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
