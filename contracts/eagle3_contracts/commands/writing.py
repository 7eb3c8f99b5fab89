"""``new`` and ``stamp``: the commands that write."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.commands.printing import print_json, print_lines
from eagle3_contracts.findings import Finding, Verdict, exit_code
from eagle3_contracts.testing.settings import SettingError

if TYPE_CHECKING:
    from eagle3_contracts.writing.composing import Composed

TRAINERS = ("specforge", "speculators", "modelopt", "angelslim", "torchspec", "eagle")


def add_arguments(name: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``new`` or ``stamp``."""
    if name == "stamp":
        parser.add_argument("contract", metavar="NAME", help="NAME, NAME@VERSION or the path of a .toml file")
        parser.add_argument("path", metavar="PATH", type=Path, help="a dataset, or the folder of a checkpoint")
        parser.add_argument("--format", metavar="ID", help="the dataset's format, where its files leave it open")
        help_tool = "what made it, such as specforge==0.2.0 (repeatable)"
        parser.add_argument("--tool", metavar="NAME==VERSION", action="append", default=[], help=help_tool)
        help_place = "write into a checkpoint's config.json and the headers of its .safetensors files as well"
        parser.add_argument("--in-place", action="store_true", help=help_place)
        parser.add_argument("--replace", action="store_true", help="put the stamp in place of one that says otherwise")
        return
    parser.add_argument("--target", metavar="FILE", type=Path, required=True, help="the target's config.json")
    parser.add_argument("--trainer", choices=TRAINERS, required=True, help="whose conventions hold")
    parser.add_argument("--hidden-states", metavar="DIR", help="captured states, to be measured and checked")
    parser.add_argument("--draft-config", metavar="FILE", type=Path, help="the drafter's config.json")
    help_ids = "layer ids as the trainer was given them, in its own dialect"
    parser.add_argument("--layer-ids", metavar="ID", type=int, nargs="+", help=help_ids)
    parser.add_argument("--name", help="the contract's name (default: from the target's)")
    parser.add_argument("--out", metavar="FILE", type=Path, help="the file to write (default: NAME.toml)")


def run(arguments: argparse.Namespace) -> int:
    """Write, and say what was written."""
    return _run_stamp(arguments) if arguments.command == "stamp" else _run_new(arguments)


def _run_new(arguments: argparse.Namespace) -> int:
    """Write a contract; its document and the dataset are checked, exit codes as for ``check``."""
    from eagle3_contracts.run import check
    from eagle3_contracts.subjects import Options, Subject
    from eagle3_contracts.writing.composing import Request, compose
    from eagle3_contracts.writing.files import write_new

    states = arguments.hidden_states
    if states is not None and not states.strip():
        raise SettingError("--hidden-states is empty, so it is not known what to measure")
    composed = compose(
        Request(
            target=arguments.target,
            trainer=arguments.trainer,
            hidden_states=states,
            draft_config=arguments.draft_config,
            layer_ids=arguments.layer_ids,
            name=arguments.name,
        )
    )
    out = arguments.out or Path(f"{composed.contract.name}.toml")
    write_new(out, composed.text)
    subjects = [Subject("dataset", states, states)] if states is not None else []
    findings = check(composed.contract, subjects, Options()).findings
    if arguments.json:
        print_json(_describe_new(composed, out, findings))
    else:
        print_lines(_tell_new(composed, out, findings, dataset=states))
    return exit_code(findings)


def _describe_new(composed: Composed, out: Path, findings: tuple[Finding, ...]) -> dict[str, Any]:
    from eagle3_contracts.reports.json_report import encode_finding

    facts = composed.facts
    return {
        "contract": composed.contract.reference,
        "digest": composed.contract.digest,
        "file": str(out),
        "found": [fact.as_dict() for fact in facts.found.values()],
        "assumed": [fact.as_dict() for fact in facts.assumed.values()],
        "left_out": facts.left_out,
        "findings": [encode_finding(item) for item in findings],
    }


def _tell_new(composed: Composed, out: Path, findings: tuple[Finding, ...], *, dataset: str | None) -> Iterator[str]:
    from eagle3_contracts.contract.describing import render_contract
    from eagle3_contracts.reports.terminal import describe_finding

    facts = composed.facts
    yield f"{out}: {composed.contract.reference}, {len(facts.found)} values found, {len(facts.assumed)} assumed"
    yield from (f"  {line}".rstrip() for line in render_contract(composed.contract)[1:])
    yield from (f"assumed   {fact.place}: {fact.origin}" for fact in facts.assumed.values())
    yield from (f"left out  {place}: {why}" for place, why in facts.left_out.items())
    judged = [item for item in findings if item.verdict in {Verdict.PASSED, Verdict.FAILED}]
    if dataset is not None:
        passed = sum(item.verdict is Verdict.PASSED for item in judged if item.stage == "dataset")
        yield f"checked   {dataset}: {passed} of {sum(item.stage == 'dataset' for item in judged)} clauses hold"
    for item in findings:
        if item.verdict in {Verdict.FAILED, Verdict.ERRORED}:
            yield from ("", describe_finding(item))


def _run_stamp(arguments: argparse.Namespace) -> int:
    """Write the capture manifest; nothing is written if what is stamped contradicts the contract."""
    from eagle3_contracts.contract import load_contract
    from eagle3_contracts.writing.stamping import Order, stamp

    if not str(arguments.path).strip():
        raise SettingError("PATH is empty, so it is not known what to stamp")
    order = Order(
        path=arguments.path,
        dataset_format=arguments.format,
        tools=tuple(arguments.tool),
        in_place=arguments.in_place,
        replace=arguments.replace,
    )
    made = stamp(load_contract(arguments.contract), order)
    if arguments.json:
        print_json({"files": [str(path) for path in made.files], "stamp": made.stamp, "assumed": list(made.assumed)})
        return 0
    written = [f"{path}: stamped for {made.stamp['contract']}" for path in made.files]
    print_lines([*written, *(f"  not told: {line}" for line in made.assumed)])
    return 0
