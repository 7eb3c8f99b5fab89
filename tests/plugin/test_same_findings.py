"""``check`` and ``pytest`` are two ways to the same findings."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from eagle3_contracts import embedded
from eagle3_contracts.run import is_absent
from eagle3_contracts.testing.settings import SUBJECT_SETTINGS
from support.consumer import BROKEN, LOUD, Consumer


def check(consumer: Consumer, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "eagle3_contracts", "check", *arguments, "--json"]
    result = subprocess.run(command, cwd=consumer.path, capture_output=True, text=True, check=False)  # noqa: S603
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def sort(findings: list[dict[str, Any]]) -> list[str]:
    return sorted(map(json.dumps, findings))


def test_on_captures_that_violate_clauses(consumer: Consumer) -> None:
    by_command = check(consumer, "own.toml", "--capture", LOUD, "--capture", BROKEN)
    arguments = ("--contract", "own.toml", "--contract-capture", LOUD, "--contract-capture", BROKEN)
    by_pytest = consumer.findings("--pyargs", "eagle3_contracts.suite", *arguments)
    assert {item["verdict"] for item in by_pytest} == {"passed", "failed", "skipped"}
    assert sort(by_pytest) == sort(by_command["findings"])


def test_on_the_embedded_default(consumer: Consumer) -> None:
    flags = {setting.stage: setting.option.replace("--contract-", "--") for setting in SUBJECT_SETTINGS}
    subjects = [subject for subject in embedded.embedded_subjects() if not is_absent(subject)]
    absent = {(subject.stage, subject.label) for subject in embedded.embedded_subjects() if is_absent(subject)}
    options = [part for subject in subjects for part in (flags[subject.stage], subject.value)]
    by_command = check(consumer, embedded.CONTRACT, *options, "--target", str(embedded.embedded_target()))
    found = consumer.findings("--pyargs", "eagle3_contracts.suite", "--contract-subject=embedded")
    by_pytest = [item for item in found if (item["stage"], item["subject"]) not in absent]
    assert {subject.stage for subject in subjects} == set(flags) - {"server"}  # a server is started on demand only
    assert sort(by_pytest) == sort(by_command["findings"])
