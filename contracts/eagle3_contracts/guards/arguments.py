"""A server's arguments, as SGLang has parsed them, held against the contract before anything is started."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.guards.captures import write_ids
from eagle3_contracts.guards.sizes import find_other_target
from eagle3_contracts.launchers import releases_of
from eagle3_contracts.registry import clause
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject, SubjectError

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.evidence import LaunchEvidence, NamedModel

SUBJECT = "this server"
LAUNCH = ("algorithm", "draft-path", "draft-tokens", "context", "quantization", "taps")
"""The ``launch.*`` clauses that say what is served; the others judge how a command is written."""
CHECKPOINT = (
    "readable", "tensors-present", "tensors-read", "shapes", "fc-width", "fc-applied", "d2t-reading", "d2t-ids",
    "engine-start", "engine-tensors", "norm-flags", "bias-flags", "layer-count", "rope", "tied-embeddings",
    "embedding",
)  # fmt: skip
"""The ``checkpoint.*`` clauses that config, names and shapes decide: no weight is read before the server reads it.
What ``checkpoint.taps`` says of a version, ``launch.taps`` says."""
FIELDS = (
    "model_path", "speculative_algorithm", "speculative_draft_model_path", "speculative_num_steps",
    "speculative_eagle_topk", "speculative_num_draft_tokens", "speculative_adaptive", "context_length", "quantization",
    "speculative_draft_model_quantization", "json_model_override_args", "enable_return_hidden_states",
    "enable_return_aux_hidden_states",
)  # fmt: skip
TOKENS = "--speculative-num-draft-tokens"


def check_arguments(contract: Contract, server_args: Any, installed: str) -> list[Finding]:
    """Judge what the arguments come to in the SGLang that is installed, and the draft's files if they are here.

    ``server_args``: SGLang's own record, as given on the command line; what it decided itself is read beside it.
    """
    evidence = read_server_arguments(server_args)
    version = check_version(contract, installed)
    judged = narrow(contract, installed)
    findings = [version, *_check_target(contract, evidence.target)]
    for name in LAUNCH:
        # The taps of a version that was not read are left to the scheduler, which sees what is really marked.
        if name != "taps" or is_read(installed):
            found = judge_clause(clause(f"launch.{name}"), judged, evidence)
            findings += [_name_line(item, contract, installed) for item in found] if name == "taps" else found
    findings += _check_draft(judged, evidence.draft)
    return [*findings, *_confirm_tokens(contract, server_args, findings)]


def read_server_arguments(server_args: Any) -> LaunchEvidence:
    """Write SGLang's record of its arguments as a launch: whatever gave them, a command, a file or ``Engine(...)``."""
    from eagle3_contracts.evidence import LaunchEvidence, Word
    from eagle3_contracts.subjects.launches.arguments import parse_arguments
    from eagle3_contracts.subjects.launches.models import look_at_model

    arguments, _ = parse_arguments("sglang", [Word(text) for text in _words(server_args)])
    evidence = LaunchEvidence(SUBJECT, engine="sglang", arguments=arguments)
    named: dict[str, NamedModel] = {}
    for part, flag in (("target", "--model-path"), ("draft", "--speculative-draft-model-path")):
        argument = evidence.last(flag)
        if argument is not None and argument.values:
            named[part] = look_at_model(argument, argument.values[0].text, (Path.cwd(),))
    return dataclasses.replace(evidence, target=named.get("target"), draft=named.get("draft"))


def _words(server_args: Any) -> Iterator[str]:
    for field in FIELDS:
        value = getattr(server_args, field, None)
        if value is None or value is False:
            continue
        yield f"--{field.replace('_', '-')}"
        if value is not True:
            yield str(value)


def is_read(installed: str) -> bool:
    """Tell whether the rules of this version of SGLang were read."""
    return bool(installed) and _public(installed) in releases_of("sglang")


def narrow(contract: Contract, installed: str) -> Contract:
    """Give the contract for the one version that runs; of one whose rules were not read, no rule is taken."""
    from eagle3_contracts.contract import Serving

    engines = {"sglang": f"=={_public(installed)}"} if is_read(installed) else {}
    serving = contract.serving or Serving(engines={"sglang": ">=0"})
    return contract.model_copy(update={"serving": serving.model_copy(update={"engines": engines})})


def check_version(contract: Contract, installed: str) -> Finding:
    """Fail for a version of SGLang that the contract does not promise."""
    rule = clause("launch.engine")
    promised = contract.serving.engines.get("sglang", "") if contract.serving is not None else ""
    if not promised:
        told = f"sglang {installed or 'of an unknown version'} runs, and the contract promises no range of it"
        return rule.find(Verdict.SKIPPED, SUBJECT, observed=told)
    if not installed:
        told, hint = "the version of the SGLang that runs cannot be told", "install it as a package"
        return rule.find(Verdict.ERRORED, SUBJECT, observed=told, hint=hint)
    fits = SpecifierSet(promised).contains(_public(installed), prereleases=True)
    return rule.find(
        Verdict.PASSED if fits else Verdict.FAILED,
        SUBJECT,
        observed=f"sglang {installed} runs",
        expected=f"sglang {promised}",
        where=Where(flag="serving.engines.sglang"),
        hint="" if fits else f"install sglang{promised}, or let the contract promise {installed} once it was checked",
    )


def _public(installed: str) -> str:
    try:
        return Version(installed).public
    except InvalidVersion:
        return installed


def _name_line(finding: Finding, contract: Contract, installed: str) -> Finding:
    """Give the line to write for the version that runs, where the clause names the ids of all."""
    line = write_ids(contract, installed) if finding.verdict is Verdict.FAILED else ""
    return dataclasses.replace(finding, hint=line) if line else finding


def _check_target(contract: Contract, target: NamedModel | None) -> list[Finding]:
    """Fail for another target, told by its config.json if it is here; the scheduler looks at the model itself."""
    config = target.config if target is not None else None
    if config is None or target is None:
        return []
    inner = config.get("text_config")
    strange = find_other_target(contract, inner if isinstance(inner, dict) else config)
    if not strange:
        return []
    return [
        clause("launch.taps").find(
            Verdict.FAILED,
            SUBJECT,
            observed=f"{strange} ({target.text[:80]})",
            expected=f"the target of the contract, {contract.target.model}",
            where=Where(flag="--model-path"),
            hint="serve the contract's target, or guard with the contract of this one",
        )
    ]


def _check_draft(contract: Contract, draft: NamedModel | None) -> list[Finding]:
    """Judge the draft's folder if it is here; weights from a hub are judged once the server has fetched them."""
    if draft is None or draft.config is None:
        return []
    subject = Subject("checkpoint", str(Path(draft.text).expanduser()), "draft model")
    try:
        evidence = gather_evidence(contract, subject, Options(scan="headers"))
    except SubjectError as error:
        rule = clause("checkpoint.readable")
        return [rule.find(Verdict.ERRORED, subject.label, observed=error.reason, hint=error.remedy)]
    return [
        finding for name in CHECKPOINT for finding in judge_clause(clause(f"checkpoint.{name}"), contract, evidence)
    ]


def _confirm_tokens(contract: Contract, server_args: Any, findings: list[Finding]) -> list[Finding]:
    """Compare with the number that SGLang itself came to, unless the rule has already said why it is wrong."""
    if any(item.clause == "launch.draft-tokens" and item.verdict is Verdict.FAILED for item in findings):
        return []
    decided = _decided(server_args, "speculative_num_draft_tokens")
    asked = getattr(server_args, "speculative_num_draft_tokens", None)
    least = contract.serving.min_draft_tokens if contract.serving is not None else None
    wanted = max(asked or 0, least or 0)
    if not isinstance(decided, int) or decided >= wanted:
        return []
    rule = clause("launch.draft-tokens")
    return [
        rule.find(
            Verdict.FAILED,
            SUBJECT,
            observed=f"the server decided on {decided} draft tokens, asked for {asked}",
            expected=f"at least {wanted}",
            where=Where(flag=TOKENS),
            measure=float(decided),
            bound=float(wanted),
            hint=f"write --speculative-num-steps {wanted - 1} --speculative-eagle-topk 1 {TOKENS} {wanted}",
        )
    ]


def _decided(server_args: Any, field: str) -> Any:
    """Give what SGLang made of an argument: it keeps its decisions beside the record (``arg_groups/overrides``)."""
    try:
        from sglang.srt.arg_groups.overrides import resolving_view
    except ImportError:
        return getattr(server_args, field, None)
    return getattr(resolving_view(server_args), field, None)
