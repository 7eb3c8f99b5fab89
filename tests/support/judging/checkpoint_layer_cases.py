"""Cases of the checkpoint stage: the decoder layer, positions, the embedding, and which tensors engines read."""

from __future__ import annotations

from typing import Any

from support.judging.cases import Case
from support.judging.checkpoint_cases import case
from support.judging.checkpoint_engine_cases import SGLANG, TWO, nested
from support.judging.checkpoint_evidence import MLA, promised, record, rows
from support.judging.documents import VOCAB, toy_contract

ROW = {"embed_tokens.weight": record("embed_tokens.weight", (VOCAB, 8))}
EMBEDS = {"embedding": "own"}
_OTHERS: dict[str, Any] = {
    "hidden_size": 9,
    "intermediate_size": 17,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8.5,
    "hidden_act": "gelu",
    "rms_norm_eps": 1.1e-5,
}
_LAYER_NORM = {"kind": "layer", "eps": 1e-5}
LAYER = (
    *(case("shapes", f"another {key}", "must failed", config={key: value}) for key, value in _OTHERS.items()),
    case("shapes", "nested and another", "must failed", form="speculators", config=nested(head_dim=8)),
    case(
        "shapes",
        "true for a number, text of fifty letters",
        "must failed, must failed",
        config={"head_dim": True, "hidden_size": "8" * 50},
    ),
    case("shapes", "true for one", "must failed", config={"num_key_value_heads": True}),
    case("shapes", "nearly eight", "must failed", config={"hidden_size": 8.004}),
    case(
        "shapes",
        "another width with latent attention",
        "must failed",
        promised(SGLANG, drafter={"attention": MLA}),
        config={"hidden_size": 9},
    ),
    case(
        "shapes",
        "the same in other words",
        "must passed",
        config={"hidden_act": "swish", "rms_norm_eps": 1.0005e-5, "head_dim": None, "hidden_size": 8.0},
    ),
    case(
        "shapes",
        "swish declared",
        "must passed",
        promised(drafter={"activation": "swish"}),
        config={"hidden_act": "silu"},
    ),
    case(
        "shapes",
        "eps of layer norms",
        "must passed",
        promised(drafter={"norm": _LAYER_NORM}),
        config={"rms_norm_eps": 1e-6},
    ),
    case(
        "shapes",
        "eps of its own norms",
        "must failed",
        promised(drafter={"norm": {"kind": "rms", "eps": 1e-6}}),
        config={"rms_norm_eps": 1e-5},
    ),
    case("shapes", "latent attention", "must passed", promised(SGLANG, drafter={"attention": MLA})),
    case(
        "shapes",
        "another latent attention",
        ", ".join(["must failed"] * 5),
        promised(SGLANG, drafter={"attention": MLA}),
        config={key: value + 1 for key, value in MLA.items() if isinstance(value, int) and key != "heads"},
    ),
    case(
        "shapes",
        "latent attention of whole queries",
        "must passed",
        promised(SGLANG, drafter={"attention": {k: v for k, v in MLA.items() if k != "q_lora_rank"}}),
        config={"q_lora_rank": 6},
    ),
)
_YARN = {"theta": 50000.0, "type": "yarn", "factor": 4.0, "original_max_position": 512}
POSITIONS = (
    case("rope", "sound", "must passed, must passed, must passed"),
    case("rope", "another base", "must failed", config={"rope_theta": 10000.0, "rope_parameters": None}),
    case("rope", "another kind", "must failed", config={"rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    case(
        "rope",
        "another base in the new layout",
        "must failed",
        config={"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}},
    ),
    case(
        "rope", "nothing of it", "must failed", config=dict.fromkeys(("rope_theta", "rope_parameters", "rope_scaling"))
    ),
    case(
        "rope",
        "nested and another",
        "must failed",
        form="speculators",
        config=nested(rope_parameters={"rope_theta": 1e6}),
    ),
    case(
        "rope",
        "interleaved",
        "must passed, must failed, must failed",
        promised(drafter={"rope": {"theta": 50000.0, "layout": "interleaved"}}),
    ),
    case(
        "rope",
        "interleaved where it is set",
        "must passed, must passed",
        promised(SGLANG, drafter={"rope": {"theta": 50000.0, "layout": "interleaved"}}),
        config={"rope_is_neox_style": False},
    ),
    case(
        "rope",
        "yarn lost",
        "must failed",
        promised(drafter={"rope": _YARN}),
        config={"rope_scaling": None, "rope_parameters": {"rope_theta": 50000.0}},
    ),
    case(
        "rope",
        "latent attention of another base",
        "must failed",
        promised(SGLANG, drafter={"attention": MLA, "rope": {"theta": 50000.0, "layout": "interleaved"}}),
        config={"rope_parameters": {"rope_theta": 1e6}},
    ),
    case("rope", "no engine", "must passed", toy_contract()),
    case("positions", "sound", "must passed"),
    case("positions", "no serving", "must passed", toy_contract()),
    case("positions", "not stated", "must errored", config={"max_position_embeddings": None}),
    case("positions", "true", "must errored", form="speculators", config=nested(max_position_embeddings=True)),
    case("positions", "other than declared", "must failed", config={"max_position_embeddings": 4096}),
    case("positions", "below what is served", "must failed, must failed", config={"max_position_embeddings": 1023}),
    case("positions", "as many as are served", "must failed", config={"max_position_embeddings": 1024}),
    case("positions", "fewer than are served, as declared", "must failed", promised(context=4096)),
)
_TIED = {"lm_head": "embedding", "draft_vocab_size": VOCAB, "d2t": "none"}
EMBEDDING = (
    case("tied-embeddings", "not tied", "must passed"),
    case("tied-embeddings", "not stated", "must passed", config={"tie_word_embeddings": None}),
    case("tied-embeddings", "said to be", "must failed", config={"tie_word_embeddings": True}),
    case(
        "tied-embeddings",
        "said to be, in the layer's table",
        "must failed",
        form="speculators",
        config=nested(tie_word_embeddings=True),
        unset=("tie_word_embeddings",),
    ),
    case(
        "tied-embeddings",
        "said to be in the layer's table, and not above it",
        "must passed",
        form="speculators",
        config=nested(tie_word_embeddings=True),
    ),
    case(
        "tied-embeddings", "not stated anywhere", "must failed", promised(drafter=_TIED), unset=("tie_word_embeddings",)
    ),
    case("tied-embeddings", "tied", "must passed", promised(drafter=_TIED)),
    case(
        "tied-embeddings",
        "tied, and said not to be",
        "must failed",
        promised(drafter=_TIED),
        config={"tie_word_embeddings": False},
    ),
    case("embedding", "lent", "must passed, must passed, must passed"),
    case("embedding", "stored, and no target", "must skipped, must passed, must passed", tensors=ROW),
    case(
        "embedding",
        "stored, the target's",
        "must passed, must passed, must passed",
        tensors=ROW,
        embedding=rows(0.0, 0.01, 0.002),
    ),
    case(
        "embedding",
        "stored, and one of another",
        "must failed, must passed, must passed",
        tensors=ROW,
        embedding=rows(0.0, 0.011, 0.002),
    ),
    case(
        "embedding",
        "stored, and two of another",
        "must failed",
        toy_contract(),
        tensors=ROW,
        embedding=rows(0.4, 0.0, 1.3),
    ),
    case("embedding", "its own", "must failed, must passed", promised(drafter=EMBEDS)),
    case("embedding", "its own, no engine", "must skipped", toy_contract(drafter=EMBEDS)),
    case(
        "embedding",
        "its own, at another width",
        "must passed, must passed",
        promised(drafter=EMBEDS),
        config={"target_hidden_size": 16},
    ),
    case(
        "embedding", "none at another width", "must passed, must failed, must passed", config={"target_hidden_size": 16}
    ),
)
_MANY = {name: record(name, (8,)) for name in ("a.weight", "b.weight", "c.weight", "d.weight", "e.weight")}
READ = (
    case("engine-tensors", "sound", "must passed, must passed"),
    case("engine-tensors", "four strays", "must failed, must failed", tensors=dict(list(_MANY.items())[:4])),
    case(
        "engine-tensors",
        "a stray, and a parameter that nothing fills",
        "must failed, must failed",
        without=("norm.weight",),
        tensors=dict(list(_MANY.items())[:1]),
    ),
    case("engine-tensors", "five strays", "must failed, must failed", tensors=_MANY),
    case(
        "engine-tensors",
        "a bias that nothing asked for",
        "must failed, must failed",
        tensors={"fc.bias": record("fc.bias", (8,))},
    ),
    case("engine-tensors", "a parameter that nothing fills", "must failed, must failed", without=("norm.weight",)),
    case(
        "engine-tensors",
        "a norm that one never applies",
        "must failed, must failed",
        promised(drafter=TWO),
        tensors={"layers.1.hidden_norm.weight": record("layers.1.hidden_norm.weight", (8,))},
    ),
    case(
        "engine-tensors",
        "a scale",
        "must failed, must failed",
        tensors={"fc.weight_scale": record("fc.weight_scale", (1,))},
    ),
    case(
        "engine-tensors",
        "a scale that the config states",
        "must passed, must passed",
        tensors={"fc.weight_scale": record("fc.weight_scale", (1,))},
        quantisation={"config.json: quantization_config": "fp8"},
    ),
    case(
        "engine-tensors",
        "a stray beside a stated scale",
        "must failed, must failed",
        tensors=dict(list(_MANY.items())[:1]),
        quantisation={"config.json: quantization_config": "fp8"},
    ),
    case(
        "engine-tensors",
        "an early engine",
        "must failed",
        promised({"sglang": ">=0.5.9,<0.5.12"}),
        tensors={"layers.0.x.weight": record("x", (8,))},
    ),
)
CASES: tuple[Case, ...] = (*LAYER, *POSITIONS, *EMBEDDING, *READ)
