"""Launches whose meaning the ``launch`` stage states, as data: resolved all at once by the server's own code."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

from support.sglang_arguments import Command

STEPS, TOPK, TOKENS = "--speculative-num-steps", "--speculative-eagle-topk", "--speculative-num-draft-tokens"
EAGLE3 = ("--speculative-algorithm", "EAGLE3")
NUMBERS = tuple(product((None, 1, 3), (None, 1, 2), (None, 2, 16)))
"""Steps, topk and draft tokens; None: the flag is left out."""

ALGORITHMS = ("EAGLE3", "eagle3", "EAGLE", "NEXTN", "EAGLE4")
DTYPES = ("auto", "half", "float16", "bfloat16", "float", "float32")
STORED = (None, "float32", "float16", "bfloat16")
OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
ARCHITECTURES = ("LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")


def drafting_flags(numbers: tuple[int | None, int | None, int | None]) -> tuple[str, ...]:
    """Write the three numbers as flags."""
    given = zip((STEPS, TOPK, TOKENS), numbers, strict=True)
    return tuple(word for flag, value in given if value is not None for word in (flag, str(value)))


def all_commands(target: Path, drafter: Path, folder: Path) -> dict[object, Command]:
    """Give every launch by what it asks: a target's variants are written into ``folder``."""
    draft = ("--speculative-draft-model-path", str(drafter))
    plain = start(target)
    eagle = (*plain, *EAGLE3, *draft)
    fp8 = ("--quantization", "fp8")
    found: dict[object, Command] = {("numbers", *item): Command((*eagle, *drafting_flags(item))) for item in NUMBERS}
    for name in ALGORITHMS:
        found["algorithm", name] = Command((*plain, "--speculative-algorithm", name, *draft))
    for name in DTYPES:
        found["dtype", name] = Command((*eagle, "--dtype", name))
    for stored in STORED:
        changed = vary(target, folder / f"stored-{stored}", torch_dtype=stored, dtype=None)
        found["stored", stored] = Command((*start(changed), *EAGLE3, *draft))
    for name in ARCHITECTURES:
        changed = vary(target, folder / name, architectures=[name], model_type=name.split("For")[0].lower())
        found["architecture", name] = Command((*start(changed), *EAGLE3, *draft))
    for length in (1024, 2048, 4096):
        found["context", length, ""] = Command((*eagle, "--context-length", str(length)))
        found["context", length, OVERRIDE] = Command((*eagle, "--context-length", str(length)), {OVERRIDE: "1"})
    found["quantised"] = Command((*eagle, *fp8))
    found["unquantised drafter"] = Command((*eagle, *fp8, "--speculative-draft-model-quantization", "unquant"))
    found["states"] = Command((*eagle, "--enable-return-hidden-states"))
    found["states, as told"] = Command(
        (*eagle, "--enable-return-hidden-states", "--disable-radix-cache", "--chunked-prefill-size", "-1")
    )
    found["beginning of a flag"] = Command((*eagle, "--speculative-num-step", "2", TOPK, "1", TOKENS, "3"))
    found["unknown flag"] = Command((*plain, "--speculative-number-of-steps", "2"))
    return found


def start(target: Path) -> tuple[str, ...]:
    """Begin a command for a CPU, with the attention backends under which EAGLE runs there."""
    amx = ("--prefill-attention-backend", "intel_amx", "--decode-attention-backend", "intel_amx")
    return ("--model-path", str(target), "--device", "cpu", "--skip-tokenizer-init", *amx)


def vary(target: Path, folder: Path, **changed: object) -> Path:
    """Write the target's config with other values; None takes a key away. Weights are not needed to resolve."""
    config = json.loads((target / "config.json").read_text(encoding="utf-8")) | changed
    folder.mkdir()
    kept = {name: value for name, value in config.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")
    return folder
