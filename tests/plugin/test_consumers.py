"""A repository with a package ``contracts`` of its own uses the installed package: from a wheel, and editable."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from eagle3_contracts import embedded
from support.consumer import CAPTURES, CONTRACT, count

REPOSITORY = Path(__file__).resolve().parents[2]
OWN_TEST = """
import os

import contracts
import eagle3_contracts

def test_own():
    assert contracts.OWN == "the consumer's"
    assert contracts.__file__ == {file!r}
    assert eagle3_contracts.__file__.startswith(os.environ["INSTALLED_IN"])
"""


def build(interpreter: Path, *arguments: str) -> None:
    """Install this repository into an environment, from what is on this machine alone."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(interpreter),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    flags = ("--no-build-isolation", "--disable-pip-version-check", *arguments)
    subprocess.run([*command, *flags, str(REPOSITORY)], check=True)  # noqa: S603


@dataclass(frozen=True)
class Installation:
    """An environment in which this project is installed, and the folder that its package lies in."""

    python: Path
    package: Path


@pytest.fixture(scope="session", params=["wheel", "editable"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Install this project into an environment of its own; all else comes from the one that runs the tests."""
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "outer.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    editable = request.param == "editable"
    build(python, *(["--editable"] if editable else []))
    return Installation(python, (REPOSITORY / "contracts" if editable else site) / "eagle3_contracts")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Give the consumer's repository."""
    package = tmp_path / "contracts"
    package.mkdir()
    (package / "__init__.py").write_text('OWN = "the consumer\'s"\n', encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\npythonpath = .\n", encoding="utf-8")
    (tmp_path / "own.toml").write_text(CONTRACT, encoding="utf-8")
    (tmp_path / "captures.py").write_text(CAPTURES, encoding="utf-8")
    test = OWN_TEST.format(file=str(package / "__init__.py"))
    (tmp_path / "test_own.py").write_text(test, encoding="utf-8")
    return tmp_path


def run(installed: Installation, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "EAGLE3_"))}
    environment.pop("PYTHONPATH", None)
    environment["INSTALLED_IN"] = str(installed.package)
    command = [str(installed.python), *arguments]
    return subprocess.run(  # noqa: S603
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


MODULE = ("-m", "pytest")
COMMAND = ("-P", "-c", "import sys, pytest; sys.exit(pytest.console_main())")
"""What the command ``pytest`` does: the current folder is not put on the path."""


@pytest.mark.parametrize("start", [MODULE, COMMAND], ids=["python -m pytest", "pytest"])
def test_a_package_contracts_of_ones_own_is_no_clash(
    installed: Installation, repository: Path, start: tuple[str, ...]
) -> None:
    own = run(installed, repository, *start, "-q", "test_own.py")
    assert own.returncode == 0, own.stdout + own.stderr
    options = ("--contract", "own.toml", "--contract-capture", "captures.py:good", "-k", "capture", "-rN")
    held = run(installed, repository, *start, "--pyargs", "eagle3_contracts.suite", *options)
    assert held.returncode == 0, held.stdout + held.stderr
    assert f"{count() - count('capture')} deselected" in held.stdout
    refused = run(installed, repository, *start, "--pyargs", "eagle3_contracts.suite")
    assert refused.returncode == 4
    assert "no subject was given, so there is nothing to check" in refused.stdout + refused.stderr


def test_catalog_and_recordings_come_along(installed: Installation, repository: Path) -> None:
    listed = run(installed, repository, "-m", "eagle3_contracts", "list")
    assert embedded.CONTRACT in listed.stdout
    arguments = ("--pyargs", "eagle3_contracts.suite", "--contract-subject=embedded", "-k", "capture")
    held = run(installed, repository, *MODULE, *arguments)
    assert held.returncode == 0, held.stdout + held.stderr
