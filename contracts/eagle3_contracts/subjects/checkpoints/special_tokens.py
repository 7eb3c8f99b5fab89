"""Tokens that a drafter must be able to draft: where a text ends, and the bytes that every text falls back to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TOKENIZER_CAP = 64 << 20
_BYTE = re.compile(r"^<0x[0-9A-F]{2}>$")


def find_special_tokens(target: Path | None, checkpoint: Path) -> dict[str, int]:
    """Give label to token id: ends of text of the target, bytes of the tokenizer beside either of them.

    Ends stand in the target's generation_config.json or config.json; those of a drafter's own config are
    transformers' defaults (2 for Llama), whatever the target's are. Byte tokens are ``<0xNN>`` of SentencePiece
    vocabularies, and the 256 one-character tokens of byte-level ones, where all of them are there.
    """
    found = dict(_ends(target)) if target is not None else {}
    for folder in (target, checkpoint):
        tokens = dict(_bytes(folder)) if folder is not None else {}
        if tokens:
            return found | tokens
    return found


def _ends(folder: Path) -> Iterator[tuple[str, int]]:
    for name in ("generation_config.json", "config.json"):
        table = _read(folder / name)
        nested = table.get("text_config")
        stated = table.get("eos_token_id", nested.get("eos_token_id") if isinstance(nested, Mapping) else None)
        ids = stated if isinstance(stated, list) else [stated]
        whole = [item for item in ids if type(item) is int]
        if whole:
            yield from ((f"end of text {item} ({name})", item) for item in whole)
            return


def _bytes(folder: Path) -> Iterator[tuple[str, int]]:
    model = _read(folder / "tokenizer.json").get("model")
    vocabulary = model.get("vocab") if isinstance(model, Mapping) else None
    if not isinstance(vocabulary, Mapping):
        return
    written = {text: item for text, item in vocabulary.items() if _BYTE.match(text) and type(item) is int}
    if not written:
        written = {char: vocabulary[char] for char in _byte_alphabet() if type(vocabulary.get(char)) is int}
    if len(written) == 256:
        yield from ((f"byte {text}", item) for text, item in written.items())


def _byte_alphabet() -> list[str]:
    """Give the characters by which byte-level vocabularies (GPT-2's) write the 256 bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + index) for index in range(len(others))]


def _read(path: Path) -> dict[str, Any]:
    """Read a JSON table; empty for anything else, since these files only add to what is checked."""
    try:
        if path.stat().st_size > TOKENIZER_CAP:
            return {}
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}
