"""What a command says to a question, or why it cannot be known by reading it."""

from __future__ import annotations

from dataclasses import dataclass

from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.contract import Contract
from eagle3_contracts.dialects import find_tool
from eagle3_contracts.dialects.wanted import unread_part
from eagle3_contracts.evidence import Argument, LaunchEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.launchers import releases_of
from eagle3_contracts.registry import Clause

RETURNS_STATES = ("--enable-return-hidden-states", "--enable-return-aux-hidden-states")


@dataclass(frozen=True, slots=True)
class Answer:
    """``argument``: the one that wins, None if the flag is not there. ``obstacle``: why that is not certain."""

    argument: Argument | None = None
    obstacle: Obstacle | None = None

    @property
    def text(self) -> str | None:
        """The value as it is written; None if the flag is not there or has none."""
        return self.argument.values[0].text if self.argument and self.argument.values else None

    @property
    def given(self) -> bool:
        """Tell whether the flag is there at all."""
        return self.argument is not None

    @property
    def number(self) -> int | None:
        """The value as an integer; None if the flag is not there or its value is none."""
        try:
            return None if self.text is None else int(self.text)
        except ValueError:
            return None


def ask(evidence: LaunchEvidence, *names: str) -> Answer:
    """Look for a flag: the last one wins. What only the run decides gives an obstacle beside it."""
    found = evidence.last(*names)
    if found is not None and found.open:
        opened = ", ".join(dict.fromkeys(found.open))
        reason = f"{found.written} is {opened}, which only the run decides"
        hint = f"write the value out, or set {opened} in the file to what it will be"
        return Answer(found, Obstacle(reason, hint, where_of(evidence, found)))
    behind = evidence.arguments[evidence.arguments.index(found) + 1 :] if found else evidence.arguments
    unseen = next((item for item in behind if not item.written), None)
    if unseen is not None:
        opened = ", ".join(dict.fromkeys(unseen.open))
        reason = f"{opened} may hold {names[0]}, and only the run decides what it holds"
        return Answer(found, Obstacle(reason, "write these arguments out", where_of(evidence, unseen, flag=names[0])))
    config = evidence.last("--config")
    if found is None and config is not None:
        reason = f"{names[0]} may stand in the file of --config, which is not read"
        return Answer(None, Obstacle(reason, "give the flag on the command line", where_of(evidence, config)))
    return Answer(found)


def where_of(evidence: LaunchEvidence, argument: Argument | None = None, *, flag: str = "") -> Where:
    """Give the place of an argument, or of the command."""
    if argument is None:
        return Where(file=evidence.source or None, line=evidence.line, flag=flag or None)
    return Where(file=evidence.source or None, line=argument.line, flag=flag or argument.written or None)


def find_obstacle(evidence: LaunchEvidence) -> Obstacle | None:
    """Say why there is no command to judge, or give None."""
    problem = first_problem(evidence.problems)
    if problem is not None:
        return from_problem(problem)
    if not evidence.engine:
        return Obstacle("no command was read", "give the file or the command line that starts the server")
    return None


def find_drafting_obstacle(evidence: LaunchEvidence) -> Obstacle | None:
    """Say why the command says nothing of a drafter: it cannot be read, or its server captures states only."""
    obstacle = find_obstacle(evidence)
    if obstacle is None and captures_only(evidence):
        return Obstacle("the server returns hidden states and drafts nothing", skips=True)
    return obstacle


def returns_states(evidence: LaunchEvidence) -> Argument | None:
    """Give the flag by which the server returns hidden states of whole prompts, or None."""
    mode = evidence.last("--return-hidden-states-mode")
    if mode is not None and mode.values and mode.values[0].text == "full":
        return mode
    return evidence.last(*RETURNS_STATES)


def captures_only(evidence: LaunchEvidence) -> bool:
    """Tell whether the server returns states without a drafter."""
    if returns_states(evidence) is None:
        return False
    without_drafter = evidence.last("--enable-return-aux-hidden-states") is not None
    return without_drafter or evidence.last("--speculative-algorithm") is None


@dataclass(frozen=True, slots=True)
class Served:
    """The releases that a launch is judged for. ``promised``: the contract's range, empty if it names none.

    ``unread``: the part of the range that was not read.
    """

    engine: str
    releases: tuple[str, ...]
    promised: str = ""
    unread: str = ""

    def __str__(self) -> str:
        """Say them: ``sglang 0.5.20 to 0.5.23``."""
        return f"{self.engine} {say_releases(self.releases)}"


def served_by(contract: Contract, evidence: LaunchEvidence) -> Served:
    """Give the releases that the contract promises for the engine; all that were read if it promises none."""
    engines = contract.serving.engines if contract.serving is not None else {}
    promised = engines.get(evidence.engine, "")
    releases = releases_of(evidence.engine, promised)
    unread = unread_part(find_tool(evidence.engine), promised) if promised else ""
    return Served(evidence.engine, releases, promised, unread)


def find_version_obstacle(served: Served) -> Obstacle | None:
    """Say that the contract serves versions that were not read, or give None."""
    if served.releases and not served.unread:
        return None
    last = find_tool(served.engine).last_read
    missing = served.unread or served.promised
    reason = f"not verified for {served.engine} {missing}, last read {last}: the contract serves {served.promised}"
    hint = f"narrow serving.engines.{served.engine} to versions that were read"
    return Obstacle(reason, hint, Where(flag=f"serving.engines.{served.engine}"))


def add_unread(clause: Clause, evidence: LaunchEvidence, served: Served, findings: list[Finding]) -> list[Finding]:
    """Add what was not verified, unless something failed already; without any release read nothing is left."""
    obstacle = find_version_obstacle(served)
    if obstacle is None or any(item.verdict is Verdict.FAILED for item in findings):
        return findings
    unverified = obstacle.finding(clause, evidence.subject)
    return [*findings, unverified] if served.releases else [unverified]


def say_releases(releases: tuple[str, ...]) -> str:
    """Say a run of releases: ``0.5.20 to 0.5.23``."""
    if not releases:
        return "in no release that was read"
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
