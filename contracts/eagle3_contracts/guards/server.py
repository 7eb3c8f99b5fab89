"""The three looks at a server that starts: its arguments, its draft's weights, and the layers that it marks."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from eagle3_contracts.guards.refusal import Say, settle
from eagle3_contracts.guards.settings import GuardSettings

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.findings import Finding
    from eagle3_contracts.guards.weights import WeightWatch

logger = logging.getLogger("eagle3_contracts.guards")


@cache
def guarded_contract(reference: str) -> Contract:
    """Read the contract that is guarded, once in a process."""
    from eagle3_contracts.contract import load_contract

    return load_contract(reference)


@cache
def installed_sglang() -> str:
    """Give the version of the SGLang that runs, empty if it has none."""
    try:
        return version("sglang")
    except PackageNotFoundError:
        return ""


def guard_arguments(settings: GuardSettings, server_args: Any, say: Say) -> None:
    """Hold the arguments, and the draft's files if they are here, against the contract before anything is started."""
    from eagle3_contracts.guards.arguments import check_arguments

    contract, settings = _resolve(settings)
    findings = check_arguments(contract, server_args, installed_sglang())
    settle(findings, settings, "this server", say)
    _note(contract, findings, "arguments and draft files keep it as far as they tell")


def guard_capture(settings: GuardSettings, model: Any, configured: Mapping[str, Any], say: Say) -> None:
    """Hold what the target marks for capture against the contract; models that capture nothing are the draft's own."""
    from eagle3_contracts.guards.captures import check_capture

    contract, settings = _resolve(settings)
    findings = check_capture(contract, model, configured, installed_sglang())
    if findings:
        settle(findings, settings, "what this server taps", say)
        _note(contract, findings, findings[0].observed)


def guard_weights(settings: GuardSettings, model: Any, watch: WeightWatch, say: Say) -> None:
    """Hold what was read of the draft, and its fc, against the contract."""
    from eagle3_contracts.guards.weights import check_weights

    contract, settings = _resolve(settings)
    findings = check_weights(contract, model, watch)
    settle(findings, settings, "the draft that this server loaded", say)
    _note(contract, findings, "; ".join(item.observed for item in findings))


def _resolve(settings: GuardSettings) -> tuple[Contract, GuardSettings]:
    """Give the contract, and the settings with its whole name, so that every message says which version is meant."""
    contract = guarded_contract(settings.contract)
    return contract, dataclasses.replace(settings, contract=contract.reference)


def _note(contract: Contract, findings: list[Finding], told: str) -> None:
    if all(str(item.verdict) in {"passed", "skipped"} for item in findings):
        logger.info("eagle3-contracts: %s guarded: %s", contract.reference, told)
