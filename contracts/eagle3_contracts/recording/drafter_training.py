"""Train the embedded default's drafter on the states of the embedded target: the one command that makes its weights.

    python -m eagle3_contracts.recording.drafter_training --out DIR

writes ``config.json`` and ``model.safetensors`` (bfloat16) as SpecForge 0.2.0 exports for SGLang: names
``midlayer.*``, d2t as offsets, t2d, no embedding. ``provenance.json`` says how they were made. ``record`` then
recomputes what it drafts; the released drafter is never trained again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts import __version__
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.drafter import ReferenceDrafter
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.recording.drafting import DraftRecipe, Lesson, train_drafter
from eagle3_contracts.recording.language import BEGIN, END, Language
from eagle3_contracts.recording.sequences import LANGUAGE_SEED
from eagle3_contracts.recording.training import SHAPE
from eagle3_contracts.subjects.targets.llama_torch import forward
from eagle3_contracts.subjects.targets.tensors import find_files
from eagle3_contracts.writing.stamping import Order, stamp

if TYPE_CHECKING:
    from torch import Tensor

SEQUENCES, HELD_OUT, LENGTH, TEXT_SEED = 4000, 200, 64, 404
RECIPE = DraftRecipe(seed=1, updates=2000, batch=6, rate=3e-3, steps=3)
STEPS_MEASURED = 5
_AUXILIARY_IDS = {"outputs of layers": [1, 3, 4], "boundaries": [2, 4, 5]}


def make_lessons(contract: Contract, weights: dict[str, Tensor], count: int) -> list[Lesson]:
    """Draw fresh text of the target's language and run the target over it."""
    import torch

    language, draw = Language(LANGUAGE_SEED), random.Random(TEXT_SEED)  # noqa: S311 (a language, no secret)
    tokens = torch.tensor([language.sequence(LENGTH, draw)[0] for _ in range(count)])
    fed = [plane.boundary for plane in contract.input_planes()]
    lessons = []
    with torch.no_grad():
        for batch in torch.split(tokens, 64):
            states = forward(weights.get, SHAPE, batch)
            planes = torch.cat([states.boundaries[boundary] for boundary in fed], dim=-1)
            logits = states.final @ weights["lm_head.weight"].T
            lessons += [Lesson(*parts) for parts in zip(batch, planes, logits, strict=True)]
    return lessons


def read_target(folder: Path) -> dict[str, Tensor]:
    """Read the target's weights, float32, without the prefix of transformers."""
    import torch

    files = find_files(folder)
    return {name.removeprefix("model."): torch.from_numpy(files.read(name)) for name in files.tensors}


def named_special_tokens(folder: Path) -> list[int]:
    """Give the ids that the target's config.json names ``*_token_id``: where its texts begin and end."""
    table = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return [item for key, item in table.items() if key.endswith("_token_id")]


def measure(contract: Contract, weights: dict[str, Tensor], lessons: Sequence[Lesson]) -> dict[str, Any]:
    """Give accuracies per step against the target's argmax, each step fed with the text's tokens."""
    import torch

    drafter = ReferenceDrafter(contract, weights)
    ids, right, rows = drafter.target_ids(), [0] * STEPS_MEASURED, [0] * STEPS_MEASURED
    with torch.inference_mode():
        for lesson in lessons:
            best = lesson.logits.argmax(-1)[1:]
            for step, done in enumerate(drafter.forward(lesson.fc_input[:-1], lesson.tokens[1:], steps=STEPS_MEASURED)):
                count = len(best) - step
                right[step] += int((ids[done.logits.argmax(-1)[:count]] == best[step:]).sum())
                rows[step] += count
    covered = torch.cat([torch.isin(lesson.logits.argmax(-1), ids) for lesson in lessons])
    return {
        "accuracy_against_target": [round(one / all_rows, 4) for one, all_rows in zip(right, rows, strict=True)],
        "rows": rows[0],
        "target_choices_in_draft_vocabulary": round(float(covered.float().mean()), 4),
    }


def config(contract: Contract) -> dict[str, Any]:
    """Give the drafter's config.json; the same planes in each engine's own words.

    SGLang and SpecForge read ``eagle_config`` (outputs of layers), vLLM the key beside it first (boundaries).
    """
    drafter, target = contract.drafter, contract.target
    assert drafter.attention.kind == "gqa"  # noqa: S101 (for the type checker)
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": drafter.hidden_size,
        "target_hidden_size": target.hidden_size,
        "intermediate_size": drafter.intermediate_size,
        "num_hidden_layers": drafter.layers,
        "num_attention_heads": drafter.attention.heads,
        "num_key_value_heads": drafter.attention.kv_heads,
        "head_dim": drafter.attention.head_dim,
        "hidden_act": drafter.activation,
        "vocab_size": target.vocab_size,
        "draft_vocab_size": drafter.draft_vocab_size,
        "max_position_embeddings": drafter.max_position,
        "rms_norm_eps": target.norm.eps,
        "rope_theta": drafter.rope.theta,
        "rope_parameters": {"rope_theta": drafter.rope.theta, "rope_type": "default"},
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": _AUXILIARY_IDS["outputs of layers"]},
        "eagle_aux_hidden_state_layer_ids": _AUXILIARY_IDS["boundaries"],
        "torch_dtype": "bfloat16",
    }


def write_drafter(folder: Path, contract: Contract, weights: dict[str, Tensor], provenance: dict[str, Any]) -> None:
    """Write the drafter as SpecForge exports it for SGLang, and stamp it; the target's embedding is not written."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file(export_tensors(contract, weights), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config(contract), indent=2) + "\n", encoding="utf-8")
    (folder / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
    stamp(contract, Order(path=folder, tools=(f"eagle3-contracts=={__version__}",), in_place=True))


def export_tensors(contract: Contract, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give SpecForge's names, bfloat16 for what floats, and t2d, which follows from d2t."""
    import torch

    named = {
        name.replace("layers.0.", "midlayer."): tensor.bfloat16() if tensor.is_floating_point() else tensor
        for name, tensor in weights.items()
        if name != "embed_tokens.weight"
    }
    chosen = torch.zeros(contract.target.vocab_size, dtype=torch.bool)
    chosen[weights["d2t"] + torch.arange(len(weights["d2t"]))] = True
    return named | {"t2d": chosen}


def main(arguments: Sequence[str] | None = None) -> int:
    """Train the embedded default's drafter into a new folder; refuse one that holds weights already."""
    import torch

    module = "python -m eagle3_contracts.recording.drafter_training"
    parser = argparse.ArgumentParser(prog=module, description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder to write; it may hold no model.safetensors")
    parser.add_argument("--seed", type=int, default=RECIPE.seed)
    parser.add_argument("--updates", type=int, default=RECIPE.updates)
    given = parser.parse_args(arguments)
    if (given.out / "model.safetensors").exists():
        parser.error(f"{given.out} holds weights already; a released drafter is never trained again, name a new folder")
    contract, target = load_contract(CONTRACT), read_target(embedded_target())
    pinned = named_special_tokens(embedded_target())
    recipe = replace(RECIPE, seed=given.seed, updates=given.updates)
    lessons = make_lessons(contract, target, SEQUENCES + HELD_OUT)
    started = time.monotonic()
    weights = train_drafter(contract, lessons[:SEQUENCES], recipe, target["embed_tokens.weight"], pinned=pinned)
    seconds = time.monotonic() - started
    rounded = {name: item.bfloat16() if item.is_floating_point() else item for name, item in weights.items()}
    measured = {
        "float32": measure(contract, weights, lessons[SEQUENCES:]),
        "bfloat16_weights": measure(contract, rounded, lessons[SEQUENCES:]),
        "seconds": round(seconds, 1),
    }
    provenance = {
        "command": f"{module} --seed {recipe.seed} --updates {recipe.updates}",
        "recipe": {**asdict(recipe), "sequences": SEQUENCES, "held_out": HELD_OUT, "length": LENGTH, "pinned": pinned},
        "measured": measured,
        "versions": {"python": sys.version.split()[0], "torch": torch.__version__},
        "threads": torch.get_num_threads(),
    }
    write_drafter(given.out, contract, weights, provenance)
    sys.stdout.write(json.dumps(measured, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
