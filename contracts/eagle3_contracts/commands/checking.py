"""``check``: hold subjects against a contract."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.commands.printing import print_json, print_lines
from eagle3_contracts.findings import Verdict
from eagle3_contracts.reports.json_report import encode_report
from eagle3_contracts.reports.terminal import (
    describe_counts,
    describe_finding,
    describe_reservations,
    describe_unchecked,
)
from eagle3_contracts.subjects import Options
from eagle3_contracts.testing.selection import label_subjects
from eagle3_contracts.testing.settings import (
    CHECKPOINT,
    PROBES,
    SCAN,
    SUBJECT_SETTINGS,
    TARGET,
    Setting,
    SettingError,
    anchor,
    read_count,
    refuse_secret,
)

if TYPE_CHECKING:
    from eagle3_contracts.run import Report


def add_arguments(_name: str, parser: argparse.ArgumentParser) -> None:
    """Add the contract, and the subjects by the names that the plugin gives them."""
    parser.add_argument("contract", metavar="NAME", help="NAME, NAME@VERSION or the path of a .toml file")
    for item in SUBJECT_SETTINGS:
        parser.add_argument(_short(item.option), dest=item.stage, metavar=item.metavar, action="append", help=item.help)
    parser.add_argument(_short(TARGET.option), metavar=TARGET.metavar, help=TARGET.help)
    parser.add_argument(_short(SCAN.option), choices=SCAN.choices, default=Options().scan, help=SCAN.help)
    parser.add_argument(_short(PROBES.option), metavar=PROBES.metavar, default=str(Options().probes), help=PROBES.help)
    parser.add_argument("--strict", action="store_true", help="a violated should counts as a violation")


def run(arguments: argparse.Namespace) -> int:
    """Check the document and every subject; print the findings."""
    from eagle3_contracts.contract import load_contract
    from eagle3_contracts.run import check

    named = {item: _anchored(item, getattr(arguments, item.stage) or []) for item in SUBJECT_SETTINGS}
    subjects = [subject for item, values in named.items() for subject in label_subjects(item.stage, values)]
    target = _anchored(TARGET, [] if arguments.target is None else [arguments.target])
    drafters = named[CHECKPOINT]
    options = Options(
        target=target[0] if target else None,
        scan=arguments.scan,
        probes=read_count("--probes", arguments.probes),
        drafter=drafters[0] if len(drafters) == 1 else None,
    )
    report = check(load_contract(arguments.contract), subjects, options)
    if arguments.json:
        print_json(encode_report(report))
    else:
        print_lines(_describe(report))
    return report.exit_code(strict=arguments.strict)


def _anchored(item: Setting, values: Sequence[str]) -> list[str]:
    """Take values as the plugin takes them; ``SettingError`` for an empty one."""
    if not all(value.strip() for value in values):
        raise SettingError(f"{_short(item.option)} is empty, so it is not known what to check ({item.help})")
    for value in values:
        if item.address:
            refuse_secret(_short(item.option), value)
    return [anchor(item, value.strip(), Path.cwd()) for value in values]


def _describe(report: Report) -> Iterator[str]:
    """Give one block per violation, one per reason why something was not checked, and the counts."""
    yield f"contract {report.contract}, digest {report.digest[:16]}"
    yield from (f"{subject.stage} {subject.label}: {subject.value}" for subject in report.subjects)
    yield from (f"\n{describe_finding(item)}" for item in report.findings if item.verdict is Verdict.FAILED)
    yield from describe_unchecked(report.findings)
    yield ""
    yield from describe_counts(report.findings)
    yield from describe_reservations(report.findings)
    if not report.subjects:
        yield "no subject was given: only the contract's own document was checked"


def _short(option: str) -> str:
    return option.replace("--contract-", "--")
