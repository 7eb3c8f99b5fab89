"""The real target, loaded once for each dtype, and real text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.subjects.captures import hooks
from eagle3_contracts.subjects.targets import hf, open_target
from eagle3_contracts.subjects.targets.hf_loading import load_model
from support.smollm2 import find_model, read_texts, stored_in, tokenize

VARIANTS = {
    "float32": ("float32", "float32"),
    "stored as bfloat16": ("float32", "bfloat16"),
    "computed in bfloat16": ("bfloat16", "bfloat16"),
}
"""What a correct artifact may have gone through: the dtype computed in, and the dtype stored."""


@pytest.fixture(scope="session")
def model_path() -> Path:
    return find_model()


@pytest.fixture(scope="session", autouse=True)
def _each_model_is_loaded_once() -> Iterator[None]:
    """Dequantising takes ten seconds; the model that comes of it is the same every time."""
    cached = functools.cache(load_model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hooks, "load_model", cached)
        patch.setattr(hf, "load_model", lambda source, dtype="float32": cached(source, dtype))
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
