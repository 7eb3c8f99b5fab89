"""What one run checks: the contract, the subjects, and one case per clause and subject.

Standard library only, and nothing is opened: listing the cases reads no subject and no contract.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eagle3_contracts import embedded as default
from eagle3_contracts.registry import STAGES, Clause, clauses_of
from eagle3_contracts.run import DOCUMENT
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.testing import settings
from eagle3_contracts.testing.settings import SUBJECT_SETTINGS, Given, Setting, SettingError

REPORT_SUFFIXES = (".json", ".html")

CODE_STAGES = frozenset({"capture", "loader"})
"""Stages whose subject is code that runs, so that a fixture may give the code itself."""

Offered = Subject | str | Path | Callable[..., Any]
"""What a fixture may give for a subject."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One run's choices.

    ``contract``: the reference, None if none was named. ``subjects``: without the document itself, which is
    always checked. ``required``: stages of which no clause may be skipped or unchecked.
    """

    contract: str | None = None
    subjects: tuple[Subject, ...] = ()
    options: Options = field(default_factory=Options)
    required: tuple[str, ...] = ()
    strict: bool = False
    reports: tuple[Path, ...] = ()
    embedded: bool = False

    def subjects_of(self, stage: str) -> tuple[Subject, ...]:
        """Give the subjects of a stage; the document is the one subject of the stage ``contract``."""
        return (DOCUMENT,) if stage == DOCUMENT.stage else tuple(s for s in self.subjects if s.stage == stage)


@dataclass(frozen=True, slots=True)
class Case:
    """One clause to check on one subject; ``subject`` is None where none was given."""

    clause: Clause
    subject: Subject | None
    id: str


def select(given: Mapping[str, Given]) -> Selection:
    """Turn settings into a selection; raise ``SettingError`` where they contradict each other or name nothing."""
    embedded = _is_embedded(given)
    reference = given.get(settings.CONTRACT.option)
    target = given.get(settings.TARGET.option)
    scan = given.get(settings.SCAN.option)
    probes = given.get(settings.PROBES.option)
    strict = given.get(settings.STRICT.option)
    drafters = given.get(settings.CHECKPOINT.option)
    return Selection(
        contract=reference.value if reference else default.CONTRACT if embedded else None,
        subjects=(*default.embedded_subjects(), *_servers(given)) if embedded else _given_subjects(given),
        options=Options(
            target=target.value if target else str(default.embedded_target()) if embedded else None,
            scan=scan.value if scan else Options().scan,
            probes=settings.read_count(settings.PROBES.option, probes.value) if probes else Options().probes,
            drafter=drafters.value if drafters and len(drafters.values) == 1 else None,
        ),
        required=_required_stages(given.get(settings.REQUIRE.option)),
        strict=strict is not None and strict.value == settings.TRUE,
        reports=_report_paths(given.get(settings.REPORT.option)),
        embedded=embedded,
    )


def demand_subject(selection: Selection) -> None:
    """Raise ``SettingError`` if there is nothing to check."""
    if not selection.subjects:
        names = ", ".join(f"{setting.option} {setting.metavar}" for setting in SUBJECT_SETTINGS)
        raise SettingError(
            f"no subject was given, so there is nothing to check; give one ({names}), or check the tiny "
            f"target that the package brings along: {settings.SUBJECT.option}=embedded"
        )


def demand_contract(selection: Selection) -> None:
    """Raise ``SettingError`` if there is nothing to check subjects against."""
    if selection.contract is None:
        raise SettingError(
            f"subjects were given, but no contract to check them against; name one: {settings.CONTRACT.option} NAME "
            "(`eagle3-contracts list` lists the names)"
        )


def cases_of(stage: str, selection: Selection) -> tuple[Case, ...]:
    """List a stage's cases, clause by clause; without a subject one case per clause, to be skipped."""
    subjects = selection.subjects_of(stage)
    return tuple(
        Case(item, subject, f"{item.id}@{subject.label}" if subject and len(subjects) > 1 else item.id)
        for item in clauses_of(stage)
        for subject in (subjects or (None,))
    )


def explain_absence(stage: str) -> str:
    """Say why a stage without a subject is not checked, and what to give."""
    options = [f"{item.option} {item.metavar}" for item in SUBJECT_SETTINGS if item.stage == stage]
    launched = "; launch starts one where SGLang is installed (`tox -e sglang-cpu`)" if stage == "server" else ""
    return f"no {stage} was given; to check one: {' or '.join(options)}{launched}"


def label_subjects(stage: str, values: Sequence[str]) -> tuple[Subject, ...]:
    """Name subjects by the end of their value, taking in as much of it as tells them apart.

    A command line is no path: it is named so, and numbered if there are several. A server is named by its address.
    """
    values = tuple(dict.fromkeys(values))
    if stage == "server":
        return _label_servers(values)
    lines = [value for value in values if stage == "launch" and len(value.split()) > 1 and not os.path.lexists(value)]
    if lines:
        numbers = [f" {number}" for number in range(1, len(lines) + 1)] if len(lines) > 1 else [""]
        named = {line: f"command line{number}" for line, number in zip(lines, numbers, strict=True)}
        files = label_subjects(stage, [value for value in values if value not in named])
        known = named | {file.value: file.label for file in files}
        return tuple(Subject(stage, value, known[value]) for value in values)
    depths = range(1, max((len(Path(value).parts) for value in values), default=1) + 1)
    for depth in depths:
        labels = ["/".join(Path(value).parts[-depth:]) or value for value in values]
        if max(Counter(labels).values(), default=1) == 1:
            break
    return tuple(Subject(stage, value, label) for value, label in zip(values, labels, strict=True))


def _label_servers(values: Sequence[str]) -> tuple[Subject, ...]:
    """Name servers without ``http://``, unless two then have one name."""
    short = [value.replace("http://", "").replace("https://", "").rstrip("/") or value for value in values]
    names = short if len(set(short)) == len(short) else values
    return tuple(Subject("server", value, name) for value, name in zip(values, names, strict=True))


def adopt_subject(stage: str, offered: Offered) -> Subject:
    """Take what a fixture gave for a subject; code that runs (a capture) is named after its function or class.

    Raises ``SettingError`` for what is no subject of the stage.
    """
    if isinstance(offered, str | Path):
        return label_subjects(stage, (str(offered),))[0]
    if isinstance(offered, Subject):
        return offered
    if stage not in CODE_STAGES or not callable(offered):
        kinds = "a path, a Subject" + (", a function" if stage in CODE_STAGES else "")
        raise SettingError(f"the fixture contract_subject gave a {type(offered).__name__} for a {stage}; give {kinds}")
    named = offered if hasattr(offered, "__qualname__") else type(offered)
    return Subject(stage, f"{named.__module__}:{named.__qualname__}", named.__qualname__.rpartition(".")[2], offered)


def _given_subjects(given: Mapping[str, Given]) -> tuple[Subject, ...]:
    found = [(item.stage, given[item.option].values) for item in SUBJECT_SETTINGS if item.option in given]
    return tuple(subject for stage, values in found for subject in label_subjects(stage, values))


def _servers(given: Mapping[str, Given]) -> tuple[Subject, ...]:
    servers = given.get(settings.SERVER.option)
    return label_subjects("server", servers.values) if servers else ()


def _is_embedded(given: Mapping[str, Given]) -> bool:
    """Tell whether the embedded default is meant: it yields to subjects that were given as strongly, or stronger."""
    wish = given.get(settings.SUBJECT.option)
    if wish is None:
        return False
    rivals = [given[item.option] for item in SUBJECT_SETTINGS if item.option in given and not _joins(item, given)]
    equal = [rival for rival in rivals if rival.source is wish.source]
    if equal and not any(rival.source < wish.source for rival in rivals):
        raise SettingError(
            f"{wish.name}=embedded and {equal[0].name} name different subjects; the embedded default never fills "
            "a stage beside others, so remove one of the two"
        )
    return all(wish.source < rival.source for rival in rivals)


def _joins(item: Setting, given: Mapping[str, Given]) -> bool:
    """Tell whether a setting adds to the embedded default: a server does, which serves it and is none of its own."""
    contract = given.get(settings.CONTRACT.option)
    return item is settings.SERVER and (contract is None or contract.value == default.CONTRACT)


def _required_stages(given: Given | None) -> tuple[str, ...]:
    stages = tuple(name.strip() for name in given.value.split(",")) if given else ()
    for name in stages:
        if name not in STAGES:
            known = ", ".join(STAGES)
            raise SettingError(f"{given and given.name}: this version has no stage {name!r}; it has {known}")
    return stages


def _report_paths(given: Given | None) -> tuple[Path, ...]:
    paths = tuple(Path(value) for value in given.values) if given else ()
    for path in paths:
        if path.suffix not in REPORT_SUFFIXES:
            known = " or ".join(REPORT_SUFFIXES)
            raise SettingError(
                f"{given and given.name}: {path.name} ends neither in {known}; "
                "for JUnit XML use pytest's own --junitxml, which carries the findings as properties"
            )
    return paths
