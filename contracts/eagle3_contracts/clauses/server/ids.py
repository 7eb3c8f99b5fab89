"""The ids that would tap the contract's planes in the version that serves, and what those it has come to."""

from __future__ import annotations

from packaging.version import InvalidVersion

from eagle3_contracts.clauses.states import Placement
from eagle3_contracts.contract import Contract
from eagle3_contracts.dialects import Dialect, Inverse, NotVerified, find_dialect, invert
from eagle3_contracts.dialects.config_keys import KEY, read_ids
from eagle3_contracts.dialects.wanted import wanted_of
from eagle3_contracts.evidence.server import ServerArguments, ServerEvidence

_CAPTURE_FLAG = "--return-aux-hidden-state-layer-ids"
_KEY = f"eagle_config.{KEY}"


def write_ids(contract: Contract, evidence: ServerEvidence, placement: Placement | None = None) -> str:
    """Say what the server's ids come to and which to write instead; empty if nothing can be said of its version."""
    arguments = evidence.arguments
    if arguments is None:
        return ""
    dialect = _dialect(contract, arguments)
    if isinstance(dialect, NotVerified):
        return f"{dialect}: `eagle3-contracts explain {contract.reference}` lists the versions that were read"
    has = _say_present(contract, evidence, arguments, dialect, placement)
    return f"{has}{_say_right(contract, evidence, arguments, dialect)}"


def _dialect(contract: Contract, arguments: ServerArguments) -> Dialect | NotVerified:
    architecture = contract.target.architecture
    try:
        return find_dialect(arguments.engine, arguments.version, architecture)
    except (KeyError, InvalidVersion):
        reason = "no rule of this engine and version was read"
        return NotVerified(arguments.engine, arguments.version, architecture, "none", reason)


def _say_right(contract: Contract, evidence: ServerEvidence, arguments: ServerArguments, dialect: Dialect) -> str:
    found = invert(dialect, wanted_of(contract, dialect).taps, contract.target.num_hidden_layers)
    engine = f"{arguments.engine} {arguments.version}"
    capture = evidence.role == "capture"
    if not isinstance(found, Inverse):
        return f"no ids mean the contract's planes in {engine}: {found.reason}"
    if found.ids is None:
        return f"leave the ids out: the default of {engine} is what the contract declares"
    if capture and min(found.ids) < 0:
        return f"the capture flag of {engine} refuses negative ids; load the drafter, whose config takes them"
    if capture:
        return f"start {engine} with {_CAPTURE_FLAG} {' '.join(map(str, found.ids))}"
    key = f'"eagle_config": {{"{KEY}": {list(found.ids)}}}'
    return f"write for {engine} into the draft's config.json: {key}"


def _say_present(
    contract: Contract,
    evidence: ServerEvidence,
    arguments: ServerArguments,
    dialect: Dialect,
    placement: Placement | None,
) -> str:
    """Say which ids the server has, and whether the rule read for its version explains what was found."""
    ids, place = _present(evidence, arguments)
    if place is None:
        return ""
    layers = contract.target.num_hidden_layers
    try:
        resolution = dialect.resolve(ids, layers)
    except TypeError:
        return f"{place} holds no integers; "
    told = ", ".join(map(str, resolution.taps)) or "nothing"
    has = f"{list(ids)} ({place})" if ids is not None else f"no ids ({place})"
    if placement is None or not all(fit.identified for fit in placement.fits):
        return f"the server has {has}, which {arguments.engine} {arguments.version} reads as {told}; "
    found = tuple(fit.found.boundary for fit in placement.fits)
    explains = found == resolution.boundaries
    but = "" if explains else ", which does not explain what was found: the ids in effect are others, or the rule is"
    return f"the server has {has}, which {arguments.engine} {arguments.version} reads as {told}{but}; "


def _present(evidence: ServerEvidence, arguments: ServerArguments) -> tuple[tuple[int, ...] | None, str | None]:
    if evidence.role == "capture":
        return arguments.capture_ids, _CAPTURE_FLAG if arguments.capture_ids is not None else None
    config = arguments.draft.config if arguments.draft is not None else None
    if config is None or arguments.version is None:
        return None, None
    try:
        reading = read_ids(arguments.engine, arguments.version, config)
    except (KeyError, TypeError):
        return None, None
    if isinstance(reading, NotVerified):
        return None, None
    ignored = "".join(f"; {key} is not read" for key, _ in reading.ignored)
    return reading.ids, f"{reading.key or f'no {_KEY} in its config.json'}{ignored}"
