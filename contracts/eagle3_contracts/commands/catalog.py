"""``list`` and ``show``: what contracts and clauses there are."""

from __future__ import annotations

import argparse

from eagle3_contracts.commands.printing import print_json, print_lines, tabulate
from eagle3_contracts.findings import Verdict, exit_code
from eagle3_contracts.registry import CLAUSES
from eagle3_contracts.reports.json_report import encode_finding
from eagle3_contracts.reports.terminal import describe_finding


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``list`` or ``show``."""
    if name == "list":
        parser.add_argument("--clauses", action="store_true", help="list the clauses instead, with their sentences")
    else:
        parser.add_argument("contract", metavar="NAME", help="NAME, NAME@VERSION or the path of a .toml file")


def run(arguments: argparse.Namespace) -> int:
    """Print the list or the contract."""
    if arguments.command == "show":
        return _show(arguments.contract, as_json=arguments.json)
    return _list_clauses(as_json=arguments.json) if arguments.clauses else _list_contracts(as_json=arguments.json)


def _list_clauses(*, as_json: bool) -> int:
    if as_json:
        names = ("id", "stage", "level", "sentence", "why", "needs")
        print_json({"clauses": [{name: str(getattr(item, name)) for name in names} for item in CLAUSES]})
    else:
        print_lines(tabulate(("clause", "level", "sentence"), [(c.id, c.level, c.sentence) for c in CLAUSES]))
    return 0


def _list_contracts(*, as_json: bool) -> int:
    from eagle3_contracts.contract.describing import describe_catalog

    rows = describe_catalog()
    if as_json:
        print_json({"contracts": rows})
    else:
        names = ("contract", "target", "summary")
        print_lines(tabulate(names, [[row[name] for name in names] for row in rows]))
    return 0


def _show(reference: str, *, as_json: bool) -> int:
    """Print one document and what is wrong with it; exit codes as for ``check`` without subjects."""
    from eagle3_contracts.contract import load_contract
    from eagle3_contracts.contract.describing import describe_contract, render_contract
    from eagle3_contracts.contract.writing import write_contract
    from eagle3_contracts.run import check
    from eagle3_contracts.subjects import Options

    contract = load_contract(reference)
    report = check(contract, (), Options())
    if as_json:
        findings = [encode_finding(item) for item in report.findings]
        print_json({**describe_contract(contract), "findings": findings, "summary": report.summary})
    else:
        print_lines([*(f"# {line}".rstrip() for line in render_contract(contract)), ""])
        print_lines(write_contract(contract).splitlines())
        shown = [item for item in report.findings if item.verdict in {Verdict.FAILED, Verdict.ERRORED}]
        print_lines(
            line for item in shown for line in ("", *(f"# {row}" for row in describe_finding(item).splitlines()))
        )
    return exit_code(report.findings)
