"""The real target, loaded once for each dtype, and real text."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.subjects.captures import hooks
from eagle3_contracts.subjects.targets import hf, open_target
from eagle3_contracts.subjects.targets.hf_loading import load_model
from support.smollm2 import every_boundary, find_model, read_texts, stored_in, tokenize
from support.smollm2_bank import Bank, make_bank

VARIANTS = {
    "float32": ("float32", "float32"),
    "stored as bfloat16": ("float32", "bfloat16"),
    "computed in bfloat16": ("bfloat16", "bfloat16"),
}
"""What a correct artifact may have gone through: the dtype computed in, and the dtype stored."""

BANK_TOKENS = 80
"""Enough that 64 and more are left without the sinks; few enough that a bank is made in seconds."""


@pytest.fixture(scope="session")
def model_path() -> Path:
    return find_model()


@pytest.fixture(scope="session", autouse=True)
def _each_model_is_loaded_once() -> Iterator[None]:
    """Reading the GGUF file takes ten seconds or more, so its weights are read once and rounded from a copy."""

    @functools.cache
    def load(source: str, dtype: str) -> Any:
        if dtype == "float32":
            return load_model(source, dtype)
        with tempfile.TemporaryDirectory() as folder:
            load(source, "float32").save_pretrained(folder)
            return load_model(folder, dtype)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hooks, "load_model", load)
        patch.setattr(hf, "load_model", load)
        yield


@pytest.fixture(scope="session")
def texts(model_path: Path) -> list[list[int]]:
    """Token ids of the stored passages."""
    return tokenize(model_path, read_texts())


@pytest.fixture(scope="session", params=list(VARIANTS))
def variant(request: pytest.FixtureRequest) -> tuple[str, Contract]:
    """The dtype computed in, and the contract with the dtype stored."""
    computed, stored = VARIANTS[request.param]
    return computed, stored_in(stored)


@pytest.fixture(scope="session")
def states_of(model_path: Path) -> Callable[[str, tuple[int, ...]], ReferenceStates]:
    """Give the target's states of a text, computed in a dtype; each is computed once."""

    @functools.cache
    def compute(dtype: str, tokens: tuple[int, ...]) -> ReferenceStates:
        return open_target(str(model_path), stored_in("float32"), dtype).reference(tokens)

    return compute


@pytest.fixture(scope="session", params=["float32", "bfloat16"])
def bank(
    request: pytest.FixtureRequest,
    model_path: Path,
    texts: list[list[int]],
    states_of: Callable[[str, tuple[int, ...]], ReferenceStates],
) -> Bank:
    """Every plane that a capture could give, computed in float32 or bfloat16, stored in bfloat16."""
    contract = every_boundary("bfloat16")
    states = states_of(request.param, tuple(texts[0][:BANK_TOKENS]))
    return make_bank(open_target(str(model_path), contract), contract, request.param, states)
