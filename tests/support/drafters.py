"""Small drafters to hold against real ones: a contract, random tensors with norms that are not 1, random inputs."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import torch
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import INTEGER_TENSORS, expected_target_tensors, expected_tensors

VOCAB, DRAFT_VOCAB, WIDTH, EPS = 64, 40, 32, 1e-5
GQA = {"kind": "gqa", "heads": 8, "kv_heads": 2, "head_dim": 8}
"""Groups of four, and 8 x 8 is not the width."""
MLA = {
    "kind": "mla",
    "heads": 3,
    "q_lora_rank": 12,
    "kv_lora_rank": 10,
    "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4,
    "v_head_dim": 5,
}
ROPES: dict[str, dict[str, Any]] = {
    "default": {"theta": 5000.0},
    "linear": {"theta": 5000.0, "type": "linear", "factor": 4.0},
    "dynamic": {"theta": 5000.0, "type": "dynamic", "factor": 3.0},
    "llama3": {
        "theta": 5000.0,
        "type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position": 32,
    },
    "yarn": {
        "theta": 5000.0,
        "type": "yarn",
        "factor": 16.0,
        "original_max_position": 32,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": 0.5,
    },
    "longrope": {
        "theta": 5000.0,
        "type": "longrope",
        "original_max_position": 32,
        "short_factor": (1.0, 1.1, 1.2, 1.3),
        "long_factor": (2.0, 3.0, 4.0, 5.0),
    },
}
"""One of each type, for heads of eight channels."""


class Inputs(NamedTuple):
    """What reaches a drafter at step 0: ``fc_input`` [T, planes x Ht], ``tokens`` [T], ``last_hidden`` [T, Ht]."""

    fc_input: Tensor
    tokens: Tensor
    last_hidden: Tensor


def drafter_contract(
    *,
    target_width: int = WIDTH,
    target_norm: dict[str, Any] | None = None,
    planes: int = 3,
    final: str = "pre_norm",
    **changes: Any,
) -> Contract:
    """Build a contract of a small drafter with its own head and d2t offsets; the drafter's table changes by keyword."""
    names = [f"plane{index}" for index in range(planes)]
    drafter = {
        "input": tuple(names),
        "last_hidden": "final",
        "hidden_size": WIDTH,
        "attention": GQA,
        "intermediate_size": 48,
        "draft_vocab_size": DRAFT_VOCAB,
        "d2t": "offset",
        "embedding": "own",
        "lm_head": "own",
        "fc": {},
        "rope": ROPES["default"],
        "max_position": 128,
    }
    return Contract.model_validate(
        {
            "schema": 1,
            "name": "small",
            "version": "1.0.0",
            "summary": "A small drafter.",
            "target": {
                "model": "small",
                "architecture": "LlamaForCausalLM",
                "hidden_size": target_width,
                "num_hidden_layers": 8,
                "vocab_size": VOCAB,
                "dtype": "float32",
                "norm": {"eps": EPS} | (target_norm or {}),
            },
            "planes": tuple(
                [{"name": name, "boundary": index + 1} for index, name in enumerate(names)]
                + [{"name": "final", "boundary": 8, "state": final}]
            ),
            "storage": {"planes": (*names, "final")},
            "drafter": drafter | changes,
        }
    )


def random_weights(contract: Contract, seed: int = 0, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """Draw every tensor that the contract expects; d2t rises. One name and shape is one tensor, in every contract."""
    drafter = contract.drafter
    plus_one = (drafter.norm or contract.target.norm).plus_one
    weights = {}
    for name, (shape, _) in expected_tensors(contract).items():
        if name in INTEGER_TENSORS:
            ids = torch.randperm(VOCAB, generator=_draw_for(name, seed))[: drafter.draft_vocab_size].sort().values
            weights[name] = ids if drafter.d2t == "absolute" else ids - torch.arange(len(ids))
        else:
            weights[name] = _draw_floats(name, shape, seed, plus_one=plus_one).to(dtype)
    return weights


def random_target(contract: Contract, seed: int = 1) -> dict[str, Tensor]:
    """Draw the tensors that targets are computed from."""
    plus_one = contract.target.norm.plus_one
    expected = expected_target_tensors(contract)
    return {name: _draw_floats(name, shape, seed, plus_one=plus_one) for name, (shape, _) in expected.items()}


def random_inputs(contract: Contract, length: int = 12, seed: int = 2) -> Inputs:
    """Draw planes of unlike size, tokens, and last hidden states."""
    draw, target = torch.Generator().manual_seed(seed), contract.target
    count = len(contract.drafter.input)
    sizes = torch.arange(1.0, count + 1).repeat_interleave(target.hidden_size)
    fc_input = torch.randn(length, count * target.hidden_size, generator=draw) * sizes
    tokens = torch.randint(0, target.vocab_size, (length,), generator=draw)
    return Inputs(fc_input, tokens, 3 * torch.randn(length, target.hidden_size, generator=draw))


def rope_parameters(contract: Contract) -> dict[str, Any]:
    """Give the contract's rope under transformers' names."""
    rope = contract.drafter.rope.model_dump(exclude_none=True, exclude={"layout", "mrope_interleaved"})
    names = {
        "theta": "rope_theta",
        "type": "rope_type",
        "original_max_position": "original_max_position_embeddings",
        "partial_factor": "partial_rotary_factor",
    }
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in rope.items()}
    return {names.get(name, name): value for name, value in listed.items()}


def _draw_floats(name: str, shape: tuple[int, ...], seed: int, *, plus_one: bool) -> Tensor:
    """Draw a tensor of its name's own: norms spread around 1, or around 0 where 1 is added."""
    drawn = torch.randn(shape, generator=_draw_for(name, seed))
    if "norm" in name and name.endswith("weight"):
        return 0.3 * drawn + (0.0 if plus_one else 1.0)
    return drawn if name == "embed_tokens.weight" or len(shape) == 1 else drawn * shape[-1] ** -0.5


def _draw_for(name: str, seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(1_000_003 * seed + zlib.crc32(name.encode()))
