"""What the flag for the dtype comes to: SGLang's and vLLM's names, and ``auto``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = {
    "half": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "float32": "float32",
}
"""The values that both engines take, and the dtype that each means."""


def named_dtype(text: str) -> str:
    """Give the dtype that a value means; an unknown one is given back as it stands, without torch's prefix."""
    plain = text.lower().removeprefix("torch.")
    return NAMES.get(plain, plain)


def automatic_dtype(config: Mapping[str, Any] | None) -> str | None:
    """Give what a checkpoint's config leads to without a flag; None where it is not here.

    A float32 or missing dtype becomes float16, but bfloat16 for Gemma (SGLang's and vLLM's ``auto``).
    """
    if config is None:
        return None
    inner = config.get("text_config")
    tables = [config, inner] if isinstance(inner, Mapping) else [config]
    stored = next((value for table in tables for key in ("dtype", "torch_dtype") if (value := table.get(key))), None)
    if stored in {None, "float32"}:
        return "bfloat16" if str(config.get("model_type", "")).startswith("gemma") else "float16"
    return str(stored)
