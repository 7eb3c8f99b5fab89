"""What becomes of findings: a refusal, a warning, or silence; "could not check" is never silence."""

from __future__ import annotations

import pytest

from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.guards import GuardError
from eagle3_contracts.guards.refusal import settle, settle_failure
from eagle3_contracts.guards.settings import GuardSettings

NAME = "tiny@1.0.0"
REFUSE, WARN = GuardSettings(NAME), GuardSettings(NAME, warns=True)
SERVE = GuardSettings(NAME, serves_unchecked=True)


def finding(verdict: Verdict, level: Level = Level.MUST) -> Finding:
    return Finding("launch.taps", level, verdict, "launch", "this server", observed="taps R[3]", hint="write 2")


def settled(settings: GuardSettings, *findings: Finding) -> str:
    """Give what is said, or ``REFUSED`` and what the refusal says."""
    said: list[str] = []
    try:
        settle(findings, settings, "this server", said.append)
    except GuardError as refusal:
        return f"REFUSED {refusal}"
    return "\n".join(said)


def test_a_violated_must_refuses_with_all_that_is_wrong_and_what_mends_it() -> None:
    told = settled(REFUSE, finding(Verdict.FAILED), finding(Verdict.PASSED))
    assert told.startswith("REFUSED eagle3-contracts: this server does not keep the contract tiny@1.0.0: refused")
    assert "FAILED launch.taps (must) on this server" in told
    assert "taps R[3]" in told
    assert "hint:     write 2" in told
    assert "EAGLE3_CONTRACT_GUARD_MODE=warn would let it go on" in told


def test_warning_says_the_same_and_goes_on() -> None:
    told = settled(WARN, finding(Verdict.FAILED))
    assert told.startswith("eagle3-contracts: this server does not keep the contract tiny@1.0.0")
    assert "hint:     write 2" in told


@pytest.mark.parametrize(("settings", "refused"), [(REFUSE, True), (WARN, False), (SERVE, False)])
def test_what_could_not_be_checked_refuses_unless_it_is_let_go_on(settings: GuardSettings, refused: bool) -> None:  # noqa: FBT001
    told = settled(settings, finding(Verdict.PASSED), finding(Verdict.ERRORED))
    assert told.startswith("REFUSED") is refused
    assert "COULD NOT CHECK this server against the contract tiny@1.0.0" in told
    assert "COULD NOT CHECK launch.taps (must) on this server" in told


@pytest.mark.parametrize(("settings", "refused"), [(REFUSE, True), (WARN, False), (SERVE, False)])
def test_a_look_at_nothing_is_no_pass(settings: GuardSettings, refused: bool) -> None:  # noqa: FBT001
    told = settled(settings, finding(Verdict.SKIPPED))
    assert told.startswith("REFUSED") is refused
    assert "nothing there could be held against it" in told


def test_letting_the_unchecked_go_on_lets_no_violation_go_on() -> None:
    assert settled(SERVE, finding(Verdict.FAILED)).startswith("REFUSED")


def test_a_violated_should_is_told_and_goes_on() -> None:
    told = settled(REFUSE, finding(Verdict.PASSED), finding(Verdict.FAILED, Level.SHOULD))
    assert told.startswith("eagle3-contracts: this server keeps tiny@1.0.0, with these reservations")


def test_a_pass_says_nothing() -> None:
    assert settled(REFUSE, finding(Verdict.PASSED)) == ""


def test_the_guards_own_failure_refuses_or_is_told_but_is_never_silent() -> None:
    said: list[str] = []
    settle_failure(KeyError("gone"), WARN, "this server", said.append)
    (told,) = said
    assert told.startswith("eagle3-contracts: COULD NOT CHECK this server against the contract tiny@1.0.0: ")
    assert told.endswith("the guard itself failed with KeyError: 'gone'")
    with pytest.raises(GuardError, match="EAGLE3_CONTRACT_GUARD_UNCHECKED=serve, or"):
        settle_failure(KeyError("gone"), REFUSE, "this server", said.append)
