"""A capture is found by the name that the user gave, and by nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.captures.naming import open_capture
from eagle3_contracts.subjects.named_code import CodeError


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A file that a user might name, in a folder that is not importable."""
    path = tmp_path / "my_capture.py"
    path.write_text(
        dedent(
            """
            from dataclasses import dataclass

            @dataclass
            class Answer:
                name: str = ""

            def capture(batch):
                return [Answer("plain") for _ in batch]

            def make(contract):
                return lambda batch: [Answer(contract.name) for _ in batch]

            def broken(contract):
                raise RuntimeError("no GPU")

            def nothing(contract):
                return None

            number = 5
            """
        )
    )
    return path


def test_a_function_in_a_file(contract: Contract, script: Path) -> None:
    assert open_capture(contract, f"{script}:capture")([[1]])[0].name == "plain"


def test_a_factory_gets_the_contract(contract: Contract, script: Path) -> None:
    assert open_capture(contract, f"{script}:make()")([[1]])[0].name == "toy"


def test_a_file_leaves_nothing_behind(contract: Contract, script: Path) -> None:
    path = list(sys.path)
    open_capture(contract, f"{script}:capture")
    assert sys.path == path
    assert [entry.name for entry in script.parent.iterdir()] == ["my_capture.py"]


def test_a_function_in_a_module(contract: Contract, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(script.parent)
    script.rename(script.with_name("importable_capture.py"))
    assert open_capture(contract, "importable_capture:capture")([[1]])[0].name == "plain"


def test_the_current_directory_is_not_searched(
    contract: Contract, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(script.parent)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in {"", str(script.parent)}])
    with pytest.raises(SubjectError, match=r"no module named 'my_capture' can be imported(.|\n)*path/file.py:function"):
        open_capture(contract, "my_capture:capture")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("capture", "names no capture"),
        (":capture", "names no capture"),
        ("module:", "names no capture"),
        ("no.such.module:capture", "no module named 'no' can be imported"),
        ("json:no_such_function", "'no_such_function' in json has no such name"),
        ("json:__doc__", "'__doc__' in json is a str, which cannot be called"),
        ("absent.py:capture", "there is no file absent.py"),
        ("transformers", "names no model"),
        ("transformers+int8:somewhere", "'int8' is no dtype to compute in"),
        ("transformers:no-such-folder", "does not exist"),
    ],
)
def test_a_name_that_leads_nowhere_says_why(contract: Contract, value: str, reason: str) -> None:
    with pytest.raises(SubjectError) as caught:
        open_capture(contract, value)
    assert reason in caught.value.reason
    assert caught.value.source in {value, value.partition(":")[2]}
    assert caught.value.remedy


def test_a_factory_that_fails_is_a_defect_of_the_code(contract: Contract, script: Path) -> None:
    with pytest.raises(CodeError, match=r"the factory broken\(\) raised RuntimeError: no GPU"):
        open_capture(contract, f"{script}:broken()")


def test_a_factory_that_gives_no_capture_is_named(contract: Contract, script: Path) -> None:
    with pytest.raises(SubjectError, match=r"the factory nothing\(\) returned a NoneType"):
        open_capture(contract, f"{script}:nothing()")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("import a_package_that_is_not_there", "ModuleNotFoundError: No module named 'a_package_that_is_not_there'"),
        ("raise ValueError('bad flag')", "ValueError: bad flag"),
        ("raise SystemExit('usage: x')", "SystemExit: usage: x"),
        ("def broken(:", "SyntaxError"),
    ],
)
def test_code_that_fails_on_import_is_a_defect_of_the_code(
    contract: Contract, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, told: str
) -> None:
    (tmp_path / "failing_capture.py").write_text(body)
    with pytest.raises(CodeError) as by_file:
        open_capture(contract, f"{tmp_path / 'failing_capture.py'}:capture")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CodeError) as by_name:
        open_capture(contract, "failing_capture:capture")
    assert told in str(by_file.value)
    assert told in str(by_name.value)


def test_the_public_type_is_had_without_numpy_or_torch() -> None:
    code = (
        "import sys; from eagle3_contracts import Captured; "
        "print(Captured.__module__, *sorted({'numpy', 'torch', 'pydantic'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - the line above
    assert done.stdout.split() == ["eagle3_contracts.subjects.captures.protocol"]
