"""What a guard does with findings: it refuses, or it warns, and it says when it could not look."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from eagle3_contracts.findings import Finding, Level, Verdict, decides
from eagle3_contracts.guards.settings import GuardSettings

Say = Callable[[str], None]


class GuardError(RuntimeError):
    """A server or a training run that does not keep its contract, or of which that cannot be told.

    ``findings``: what failed and what could not be checked; empty where the guard itself could not be set up.
    """

    def __init__(self, message: str, findings: tuple[Finding, ...] = ()) -> None:
        self.findings = findings
        super().__init__(message)


def settle(findings: Iterable[Finding], settings: GuardSettings, place: str, say: Say) -> None:
    """Let a server go on, with what there is to say, or raise ``GuardError``. ``place``: where the guard looked.

    Violated musts refuse unless the mode is ``warn``; what could not be checked refuses unless the mode is ``warn``
    or ``unchecked`` is ``serve``. Violated shoulds are told.
    """
    seen = tuple(findings)
    failed = tuple(item for item in seen if item.verdict is Verdict.FAILED and item.level is Level.MUST)
    unchecked = tuple(item for item in seen if item.verdict is Verdict.ERRORED)
    minor = tuple(item for item in seen if item.verdict is Verdict.FAILED and item.level is Level.SHOULD)
    if failed and settings.refuses:
        raise GuardError(_tell(failed + unchecked, f"{_broken(settings, place)}: {_refused(settings)}"), failed)
    if failed:
        say(_tell(failed, f"{_broken(settings, place)}; {settings.mode_variable}=warn lets it go on"))
    if unchecked and settings.refuses_unchecked:
        raise GuardError(
            _tell(unchecked, f"{_unsure(settings, place)}: {_refused(settings, unchecked=True)}"), unchecked
        )
    if unchecked:
        say(_tell(unchecked, f"{_unsure(settings, place)}, and it goes on unchecked"))
    if minor:
        say(_tell(minor, f"eagle3-contracts: {place} keeps {settings.contract}, with these reservations"))
    if not failed and not unchecked and not decides(seen):
        _settle_nothing(settings, place, say)


def settle_failure(error: Exception, settings: GuardSettings, place: str, say: Say) -> None:
    """Do the same where the guard itself failed: that is "could not check", never a pass."""
    why = f"{type(error).__name__}: {error}"
    message = f"{_unsure(settings, place)}: the guard itself failed with {why[:500]}"
    if settings.refuses_unchecked:
        raise GuardError(f"{message}\n  {_refused(settings, unchecked=True)}") from error
    say(message)


def _settle_nothing(settings: GuardSettings, place: str, say: Say) -> None:
    message = f"{_unsure(settings, place)}: nothing there could be held against it"
    if settings.refuses_unchecked:
        raise GuardError(f"{message}\n  {_refused(settings, unchecked=True)}")
    say(message)


def _broken(settings: GuardSettings, place: str) -> str:
    return f"eagle3-contracts: {place} does not keep the contract {settings.contract}"


def _unsure(settings: GuardSettings, place: str) -> str:
    return f"eagle3-contracts: COULD NOT CHECK {place} against the contract {settings.contract}"


def _refused(settings: GuardSettings, *, unchecked: bool = False) -> str:
    """Say that it is refused, and by what setting it would not be."""
    way = f"{settings.mode_variable}=warn"
    if unchecked:
        way = f"{settings.unchecked_variable}=serve, or {way},"
    return f"refused ({way} would let it go on)"


def _tell(findings: tuple[Finding, ...], heading: str) -> str:
    from eagle3_contracts.reports.terminal import describe_finding

    return "\n".join([heading, *(describe_finding(item) for item in findings)])
