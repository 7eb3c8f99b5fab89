"""From a named server to evidence: ask what it is, probe it, foretell its answers, hold its rows against the target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServedProbe, ServerArguments, ServerEvidence, ServerRole
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.servers.address import Address, parse_address, read_credentials
from eagle3_contracts.subjects.servers.arguments import read_arguments, tell_role
from eagle3_contracts.subjects.servers.client import SglangClient
from eagle3_contracts.subjects.servers.failing import ServerProblemError
from eagle3_contracts.subjects.servers.naming import read_name
from eagle3_contracts.subjects.servers.probes import NEW_TOKENS, plan_probes
from eagle3_contracts.subjects.servers.probing import Probing
from eagle3_contracts.subjects.servers.references import (
    compare_later_rows,
    compare_rows,
    open_oracle,
    open_reference,
)
from eagle3_contracts.subjects.servers.transport import Limits, Transport

if TYPE_CHECKING:
    from eagle3_contracts.subjects.servers.predicting import Oracle

PATIENCE = 60.0
"""Seconds that a server may say it is starting; one that takes no connection is not waited for."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs: attached to, or launched. ``asked_draft_tokens``, ``stand_ins``: see ``ServerEvidence``."""

    address: Address
    asked_role: ServerRole | None = None
    asked_draft_tokens: int | None = None
    stand_ins: tuple[str, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())


def gather_server(
    contract: Contract, subject: Subject, options: Options, limits: Limits | None = None
) -> ServerEvidence:
    """Find or start the server and examine it; see ``servers.gather``."""
    named = read_name(subject.value)
    if named.address is not None:
        return examine(contract, subject.label, Running(named.address, named.role), options, limits)
    from eagle3_contracts.subjects.servers.launched import has_ended, hold_server, tell_end

    assert named.role is not None  # noqa: S101 (for the type checker: a launch has one)
    golden = open_reference(contract, replace(options, target=None)).golden
    with hold_server(contract, named.role, options, golden) as held:
        if isinstance(held, Problem):
            return ServerEvidence(subject.label, asked_role=named.role, problems=(held,))
        running = Running(
            parse_address(held.url), named.role, held.plan.draft_tokens, tuple(held.stand_ins), tuple(held.notes)
        )
        found = examine(contract, subject.label, running, options, limits)
        ended = has_ended(held, in_doubt=bool(found.problems))
        return replace(found, problems=(*found.problems, tell_end(held))) if ended else found


def examine(
    contract: Contract, label: str, running: Running, options: Options, limits: Limits | None = None
) -> ServerEvidence:
    """Examine a running server. ``SubjectError`` only for what the user gave; what the server does is evidence."""
    client = SglangClient(Transport(running.address, limits or Limits(), read_credentials()))
    empty = ServerEvidence(
        subject=label,
        url=str(running.address),
        asked_role=running.asked_role,
        stand_ins=running.stand_ins,
        notes=running.notes,
    )
    try:
        client.wait_until_healthy(PATIENCE)
        arguments, strange = read_arguments(client.server_info())
    except ServerProblemError as error:
        return replace(empty, problems=(error.problem,))
    if running.asked_draft_tokens is not None:
        arguments = replace(arguments, asked_draft_tokens=running.asked_draft_tokens)
    known = replace(empty, role=tell_role(arguments), arguments=arguments, problems=strange)
    misfit = _misfit(contract, arguments)
    if misfit is not None:
        return replace(known, problems=(*strange, misfit))
    return _probe(contract, client, known, options)


def _probe(contract: Contract, client: SglangClient, known: ServerEvidence, options: Options) -> ServerEvidence:
    arguments, role = known.arguments, known.role
    assert arguments is not None and role is not None  # noqa: S101, PT018 (for the type checker)
    reference = open_reference(contract, options)
    plan = plan_probes(contract, reference.golden, arguments, options.seed)
    probing = Probing(client, arguments.returns_hidden_states is not False)
    probing.run(plan.prompts)
    comparison, misfits = compare_rows(reference, contract, role, tuple(probing.probes))
    oracle, unforetold = open_oracle(reference, contract, arguments, role)
    return replace(
        known,
        probes=_foretell(oracle, probing.probes),
        batch_size=probing.batch_size,
        comparison=comparison,
        later=compare_later_rows(reference, contract, role, tuple(probing.probes)),
        problems=(*known.problems, *probing.problems, *reference.problems),
        notes=(*known.notes, *plan.notes, *probing.notes, *reference.notes, *misfits, *unforetold),
    )


def _foretell(oracle: Oracle | None, probes: list[ServedProbe]) -> tuple[ServedProbe, ...]:
    if oracle is None:
        return tuple(probes)
    return tuple(
        replace(probe, prediction=oracle.predict(probe.token_ids, NEW_TOKENS, probe.alone.output_ids))
        if probe.alone is not None
        else probe
        for probe in probes
    )


def _misfit(contract: Contract, arguments: ServerArguments) -> Problem | None:
    """Refuse to probe a target whose vocabulary is smaller: an id beyond it ends the server (SGLang 0.5.23, CPU)."""
    config = dict(arguments.target.config or {}) if arguments.target is not None else {}
    for key in filter(None, contract.target.config_path.split(".")):
        inner = config.get(key)
        config = dict(inner) if isinstance(inner, dict) else config
    size = config.get("vocab_size")
    if not isinstance(size, int) or size >= contract.target.vocab_size:
        return None
    reason = f"the served target knows {size:,} tokens, the contract's {contract.target.vocab_size:,}: not probed"
    return Problem("target", reason, "serve the contract's target")
