"""Random small contracts: every variant of a drafter that a contract can state, alone and together."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter.activations import ACTIVATIONS
from support.drafters import DRAFT_VOCAB, MLA, ROPES, VOCAB, WIDTH, drafter_contract


@st.composite
def drafter_contracts(draw: st.DrawFn, *, windows: bool = True) -> Contract:
    """Draw a contract; ``windows``: sliding windows too, which training and serving treat differently."""
    attention = draw(st.one_of(_gqa(windows=windows), _mla()))
    target_width = draw(st.sampled_from([WIDTH, 48]))
    same_width = target_width == WIDTH
    planes = draw(st.integers(1, 3))
    has_fc = not (same_width and planes == 1) or draw(st.booleans())
    input_norm = draw(st.sampled_from(["none", "joint", "per_plane"]))
    whole = same_width and draw(st.booleans())
    return drafter_contract(
        target_width=target_width,
        planes=planes,
        attention=attention,
        fc={"bias": draw(st.booleans()), "input_norm": input_norm} if has_fc else {"present": False},
        layers=draw(st.integers(1, 3)),
        activation=draw(st.sampled_from(ACTIVATIONS)),
        draft_vocab_size=VOCAB if whole else DRAFT_VOCAB,
        d2t=draw(st.sampled_from(["offset", "absolute", "none"] if whole else ["offset", "absolute"])),
        embedding=draw(st.sampled_from(["own", "target"] if same_width else ["own"])),
        lm_head=draw(st.sampled_from(_heads(same_width=same_width, whole=whole))),
        norm=draw(st.one_of(st.none(), _norms())),
        embedding_norm=draw(st.booleans()),
        hidden_norm=draw(st.sampled_from(["own", "chained"])),
        residual=draw(st.sampled_from(["pre_norm", "post_norm"])),
        recurrent=draw(st.sampled_from(["pre_norm", "post_norm"])),
        head_norm=draw(st.booleans()),
        rope=draw(_ropes(attention)),
    )


def _heads(*, same_width: bool, whole: bool) -> list[str]:
    borrowed = ["target_rows"] if same_width else []
    return ["own", *borrowed, *(["target", "embedding"] if whole else [])]


def _norms() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"kind": st.sampled_from(["rms", "layer"]), "plus_one": st.booleans(), "eps": st.sampled_from([1e-6, 1e-2])}
    )


@st.composite
def _gqa(draw: st.DrawFn, *, windows: bool) -> dict[str, Any]:
    kv_heads = draw(st.sampled_from([1, 2, 3]))
    attention: dict[str, Any] = {"kind": "gqa", "kv_heads": kv_heads, "heads": kv_heads * draw(st.integers(1, 3))}
    attention["head_dim"] = draw(st.sampled_from([4, 8, 12]))
    attention |= {flag: draw(st.booleans()) for flag in ("qk_norm", "bias", "sinks")}
    if windows and draw(st.booleans()):
        attention["sliding_window"] = draw(st.integers(1, 6))
    return attention


@st.composite
def _mla(draw: st.DrawFn) -> dict[str, Any]:
    return MLA | {"q_lora_rank": draw(st.sampled_from([None, 12])), "bias": draw(st.booleans())}


@st.composite
def _ropes(draw: st.DrawFn, attention: dict[str, Any]) -> dict[str, Any]:
    channels = attention["head_dim"] if attention["kind"] == "gqa" else attention["qk_rope_head_dim"]
    partial = draw(st.sampled_from([1.0, 0.5]))
    kinds = ["default", "linear", "llama3", "yarn"]
    if channels * partial > 2:
        kinds.append("dynamic")
    rope = ROPES[draw(st.sampled_from(kinds))]
    return rope | {"layout": draw(st.sampled_from(["half", "interleaved"])), "partial_factor": partial}
