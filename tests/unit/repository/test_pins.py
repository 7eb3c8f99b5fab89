"""Versions stand in pyproject.toml alone; the README's support table and the workflows say the same."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = ROOT / ".github" / "workflows"


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tox() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini", encoding="utf-8")
    return parser


def test_every_tested_requirement_is_pinned_exactly(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    open_ranges = {"all", "arrow", "pytest", "torch", "transformers"}
    for name in extras.keys() - open_ranges:
        for requirement in map(Requirement, extras[name]):
            pins = [item.operator for item in requirement.specifier]
            assert requirement.name == project["project"]["name"] or pins == ["=="], f"{name}: {requirement}"


def test_no_other_file_pins_a_version() -> None:
    files = [ROOT / "tox.ini", ROOT / "README.md", ROOT / ".ci" / "run", *sorted(WORKFLOWS.iterdir())]
    pinned = {path.name: re.findall(r"\w==\d\S*", path.read_text(encoding="utf-8")) for path in files}
    assert not {name: found for name, found in pinned.items() if found}


def test_one_torch_is_pinned_and_every_environment_takes_it(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    pins = {item for name in extras for item in extras[name] if item.startswith("torch==")}
    assert len(pins) == 1
    reached = {name: _reach(name, extras) for name in extras if name.startswith("peer-") or name in {"dev", "smollm2"}}
    assert all(pins <= items for items in reached.values()), reached


def test_the_support_table_names_the_versions_that_are_installed(project: dict[str, Any]) -> None:
    table = re.findall(r"^\| ([\w-]+) \| ([\d., ]+) \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    told = {(name.lower(), version) for name, versions in table for version in versions.split(", ")}
    groups = [Requirement(item) for group in project["dependency-groups"].values() for item in group]
    for requirement in groups:
        name = requirement.name.removeprefix("nvidia-")
        version = next(iter(requirement.specifier)).version
        assert name.startswith("llm-") or (name, version) in told, f"{requirement} is not in the README's support table"


def test_every_environment_runs_in_a_workflow_and_runs_something(tox: configparser.ConfigParser) -> None:
    environments = _expand(tox["tox"]["env_list"])
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS.iterdir())
    assert [name for name in environments if not re.search(rf"- {name}$", text, re.MULTILINE)] == []
    commands = "\n".join(section.get("commands", "") for section in tox.values())
    factors = {name.removeprefix("peers-") for name in environments}
    alone = {name for name in factors if f"testenv:{name}" in tox and "commands" in tox[f"testenv:{name}"]}
    assert {name for name in factors - alone if not re.search(rf"^{name}: \S", commands, re.MULTILINE)} == set()


def _reach(name: str, extras: dict[str, list[str]]) -> set[str]:
    """Give all requirements of an extra, those of the extras that it names included."""
    items = set(extras[name])
    for requirement in map(Requirement, extras[name]):
        items |= {item for extra in requirement.extras if extra in extras for item in _reach(extra, extras)}
    return items


def _expand(env_list: str) -> list[str]:
    """Expand ``a, b-{c,d}`` as tox does, for one pair of braces in a name."""
    names = []
    for entry in re.findall(r"[\w-]+(?:\{[^}]*\})?", env_list):
        stem, _, choices = entry.rstrip("}").partition("{")
        names += [stem + choice.strip() for choice in choices.split(",")]
    return names
