"""The golden target with its contract, and copies of it that a test may cut or alter."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.recording.language import Language
from eagle3_contracts.recording.sequences import LANGUAGE_SEED
from eagle3_contracts.subjects.targets import Target, open_target

Altered = Callable[..., Contract]
Cut = Callable[..., Path]


@pytest.fixture(scope="session")
def tiny() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture(scope="session")
def altered(tiny: Contract) -> Altered:
    """Give the tiny contract with other values in its target table, and no digest of the weights."""

    def alter(**target: Any) -> Contract:
        values = tiny.model_dump(mode="json", by_alias=True)
        values["target"] |= {"weights_sha256": None} | target
        return Contract.model_validate_json(json.dumps(values))

    return alter


@pytest.fixture(scope="session")
def tokens() -> tuple[int, ...]:
    import random

    return tuple(Language(LANGUAGE_SEED).sequence(80, random.Random(7))[0])  # noqa: S311


@pytest.fixture(scope="session")
def target(tiny: Contract) -> Target:
    return open_target(str(embedded_target()), tiny, route="numpy")


@pytest.fixture(scope="session")
def reference(target: Target, tokens: tuple[int, ...]) -> ReferenceStates:
    return target.reference(tokens)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the golden target's folder."""
    return Path(shutil.copytree(embedded_target(), tmp_path / "target"))


@pytest.fixture
def cut(tmp_path: Path) -> Cut:
    """Write the tensors of the golden target that ``keep`` names into one file, under other names if asked."""

    def write(*keep: str, name: str = "part.safetensors", prefix: str = "model.") -> Path:
        whole = load_file(embedded_target() / "model.safetensors")
        kept = {key: value for key, value in whole.items() if any(part in key for part in keep)}
        save_file({key.replace("model.", prefix, 1): value for key, value in kept.items()}, tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def edit_config(copy: Path) -> Callable[..., None]:
    """Change keys of the copy's config.json; None removes one."""

    def edit(**changes: Any) -> None:
        config = json.loads((copy / "config.json").read_text()) | changes
        kept = {key: value for key, value in config.items() if value is not None}
        (copy / "config.json").write_text(json.dumps(kept))

    return edit


@pytest.fixture(autouse=True)
def _no_warnings_about_floats() -> Any:
    with np.errstate(all="raise", under="ignore"):
        yield
