from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts import embedded
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.faults.injecting.checkpoints import prepare_export
from eagle3_contracts.writing.composing import Composed, Request, compose
from support.target_configs import TARGETS

Compose = Callable[..., Composed]


@pytest.fixture
def write_config(tmp_path: Path) -> Callable[..., Path]:
    """Write a config.json: an excerpt by name, or values, with changes at the top."""

    def write(config: str | dict[str, Any], name: str = "target", **changes: Any) -> Path:
        values = TARGETS[config] if isinstance(config, str) else config
        path = tmp_path / name / "config.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({**values, **changes}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def compose_from(write_config: Callable[..., Path]) -> Compose:
    def compose_one(config: str | dict[str, Any], trainer: str = "specforge", **options: Any) -> Composed:
        return compose(Request(target=write_config(config), trainer=trainer, **options))

    return compose_one


@pytest.fixture(scope="session")
def embedded_contract() -> Contract:
    return load_contract(embedded.CONTRACT)


@pytest.fixture
def drafter(embedded_contract: Contract, tmp_path: Path) -> tuple[Contract, Path]:
    """Give a sound drafter of the embedded target, and the contract that it conforms to, at a path of its own."""
    contract, export = prepare_export(embedded_contract, tmp_path / "drafter", "specforge")
    return contract, export.write()
