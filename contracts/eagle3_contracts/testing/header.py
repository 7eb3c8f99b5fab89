"""What the head of a test run says: what will be checked, who said so, and with which versions.

Standard library only; versions are read from the installed metadata, nothing is imported for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

from eagle3_contracts import __version__
from eagle3_contracts.reports.terminal import plain
from eagle3_contracts.testing.session import ContractSession
from eagle3_contracts.testing.settings import SettingError

PACKAGES = ("numpy", "pydantic", "safetensors", "torch", "transformers")


def describe_session(session: ContractSession, strange: Mapping[str, str]) -> list[str]:
    """Describe what will be checked; ``strange``: variables that look like settings and are none."""
    lines = [f"eagle3-contracts: {__version__} ({_describe_versions()})"]
    try:
        lines += _describe_choices(session)
    except SettingError as error:
        lines.append(f"contract: the settings cannot be followed: {error}")
    for name, meant in strange.items():
        hint = f", did you mean {meant}?" if meant else ""
        lines.append(f"contract: the variable {name} is no setting of this version{hint}")
    return [plain(line) for line in lines]


def _describe_choices(session: ContractSession) -> list[str]:
    selection = session.selection
    lines = [f"contract: {selection.contract or 'none named'}{_sources(session)}"]
    lines += [f"contract: {subject.stage} {subject.label} = {subject.value}" for subject in selection.subjects]
    if selection.options.target:
        lines.append(f"contract: target = {selection.options.target}")
    return lines


def _sources(session: ContractSession) -> str:
    names = ", ".join(given.name for given in session.given.values())
    return f" (set by {names})" if names else ""


def _describe_versions() -> str:
    return ", ".join(f"{name} {_version(name)}" for name in PACKAGES)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
