"""Train the embedded target: the one command that makes new weights, apart from re-recording its states.

    python -m eagle3_contracts.recording.training --out DIR

writes ``config.json``, ``model.safetensors`` (bfloat16, which float32 widens exactly) and ``provenance.json``. New
weights are another target, so they need another version of the contract; the released recording is never trained again.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.recording.language import BEGIN, END, VOCABULARY, Language, entropy
from eagle3_contracts.subjects.targets.llama_torch import forward
from eagle3_contracts.subjects.targets.shape import LlamaShape, RopeShape

if TYPE_CHECKING:
    from torch import Tensor

SHAPE = LlamaShape(
    layers=8,
    hidden=64,
    intermediate=80,
    heads=8,
    kv_heads=2,
    head_dim=16,
    vocab=VOCABULARY,
    eps=1e-5,
    rope=RopeShape(theta=50000.0),
)
MAX_POSITION = 2048


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the embedded target is trained; every number that changes its weights."""

    seed: int = 1
    steps: int = 800
    batch: int = 32
    length: int = 96
    sequences: int = 8000
    held_out: int = 200
    rate: float = 4e-3
    warmup: int = 50


def initial_weights(recipe: Recipe) -> dict[str, Tensor]:
    """Draw weights: matrices scaled by fan-in, norms log-normal around 1, so that a missed or swapped norm shows."""
    import torch

    draw = torch.Generator().manual_seed(recipe.seed)
    hidden, heads, shared = SHAPE.hidden, SHAPE.heads * SHAPE.head_dim, SHAPE.kv_heads * SHAPE.head_dim
    matrices = {"embed_tokens": (SHAPE.vocab, hidden, 0.125), "lm_head": (SHAPE.vocab, hidden, 0.05)}
    norms = ["norm"]
    for layer in range(SHAPE.layers):
        attention, feed = f"layers.{layer}.self_attn.", f"layers.{layer}.mlp."
        norms += [f"layers.{layer}.input_layernorm", f"layers.{layer}.post_attention_layernorm"]
        matrices |= {attention + "q_proj": (heads, hidden, hidden**-0.5)}
        matrices |= {attention + name: (shared, hidden, hidden**-0.5) for name in ("k_proj", "v_proj")}
        matrices |= {attention + "o_proj": (hidden, heads, 0.5 * heads**-0.5)}
        matrices |= {feed + name: (SHAPE.intermediate, hidden, hidden**-0.5) for name in ("gate_proj", "up_proj")}
        matrices |= {feed + "down_proj": (hidden, SHAPE.intermediate, 0.5 * SHAPE.intermediate**-0.5)}
    weights = {
        f"{name}.weight": torch.randn(rows, columns, generator=draw) * scale
        for name, (rows, columns, scale) in matrices.items()
    }
    return weights | {f"{name}.weight": torch.exp(0.3 * torch.randn(hidden, generator=draw)) for name in norms}


def next_token_loss(weights: dict[str, Tensor], tokens: Tensor) -> Tensor:
    """Give the mean negative log-likelihood (nats) of each next token of [B, T]."""
    import torch

    logits = forward(weights.get, SHAPE, tokens).final @ weights["lm_head.weight"].T
    return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def train(recipe: Recipe) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Train from the recipe; give the weights, rounded to bfloat16, and what was measured."""
    import torch

    language, draw = Language(recipe.seed), random.Random(recipe.seed + 1)  # noqa: S311 (a language, no secret)
    drawn = [language.sequence(recipe.length, draw) for _ in range(recipe.sequences + recipe.held_out)]
    tokens = torch.tensor([sequence for sequence, _ in drawn])
    training, held_out = tokens[: recipe.sequences], tokens[recipe.sequences :]
    weights = {name: weight.requires_grad_() for name, weight in initial_weights(recipe).items()}
    optimizer = torch.optim.AdamW(weights.values(), lr=recipe.rate, weight_decay=0.01, betas=(0.9, 0.98))
    order = torch.Generator().manual_seed(recipe.seed + 2)
    started = time.monotonic()
    for step in range(recipe.steps):
        share = min(1.0, (step + 1) / recipe.warmup) * 0.5 * (1 + math.cos(math.pi * step / recipe.steps))
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * share
        batch = training[torch.randint(0, len(training), (recipe.batch,), generator=order)]
        optimizer.zero_grad()
        loss = next_token_loss(weights, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
    seconds = time.monotonic() - started
    rounded = {name: weight.detach().bfloat16() for name, weight in weights.items()}
    with torch.no_grad():
        measured = {
            "entropy": entropy([shares for _, shares in drawn[recipe.sequences :]]),
            "loss_float32": next_token_loss(weights, held_out).item(),
            "loss_bfloat16_weights": next_token_loss({k: w.float() for k, w in rounded.items()}, held_out).item(),
            "loss_untrained": next_token_loss(initial_weights(recipe), held_out).item(),
            "tokens_held_out": held_out.numel(),
            "seconds": round(seconds, 1),
        }
    return rounded, measured


def config() -> dict[str, Any]:
    """Give the target's config.json; the rotary base stands in both spellings, of transformers 4 and 5."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": SHAPE.hidden,
        "intermediate_size": SHAPE.intermediate,
        "num_hidden_layers": SHAPE.layers,
        "num_attention_heads": SHAPE.heads,
        "num_key_value_heads": SHAPE.kv_heads,
        "head_dim": SHAPE.head_dim,
        "hidden_act": "silu",
        "vocab_size": SHAPE.vocab,
        "max_position_embeddings": MAX_POSITION,
        "rms_norm_eps": SHAPE.eps,
        "rope_theta": SHAPE.rope.theta,
        "rope_parameters": {"rope_theta": SHAPE.rope.theta, "rope_type": "default"},
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "initializer_range": 0.02,
        "use_cache": True,
        "torch_dtype": "bfloat16",
    }


def write_target(folder: Path, weights: dict[str, Tensor], provenance: dict[str, Any]) -> None:
    """Write the target as transformers would load it, and what it was trained from."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    named = {name if name.startswith("lm_head") else f"model.{name}": weight for name, weight in weights.items()}
    save_file(named, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config(), indent=2) + "\n", encoding="utf-8")
    (folder / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train the embedded target into a new folder; refuse one that holds weights already."""
    import torch

    parser = argparse.ArgumentParser(prog="python -m eagle3_contracts.recording.training", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder to write; it may hold no model.safetensors")
    parser.add_argument("--seed", type=int, default=Recipe().seed)
    parser.add_argument("--steps", type=int, default=Recipe().steps)
    given = parser.parse_args(arguments)
    if (given.out / "model.safetensors").exists():
        parser.error(f"{given.out} holds weights already; a released target is never trained again, name a new folder")
    recipe = Recipe(seed=given.seed, steps=given.steps)
    weights, measured = train(recipe)
    command = f"python -m eagle3_contracts.recording.training --seed {recipe.seed} --steps {recipe.steps}"
    provenance = {
        "command": command,
        "recipe": asdict(recipe),
        "measured": measured,
        "versions": {"python": sys.version.split()[0], "torch": torch.__version__},
        "threads": torch.get_num_threads(),
    }
    write_target(given.out, weights, provenance)
    sys.stdout.write(json.dumps(measured, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
