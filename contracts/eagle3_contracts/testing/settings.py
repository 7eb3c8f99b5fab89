"""What the user chose: one table of settings, each an option, an environment variable and an ini key.

Standard library only. An option beats its variable, the variable its ini key, the ini key the default.
A setting that is present but empty is an error: `--contract-target=$TARGET` with TARGET unset must never
check less than was asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

PREFIX = "EAGLE3_CONTRACT"
"""Every variable of this project that starts so is a setting; any other with this prefix is a typing error."""

OTHERS = frozenset(
    {
        "EAGLE3_CONTRACTS_SGL_KERNEL",
        "EAGLE3_CONTRACTS_UPDATE_SNAPSHOTS",
        "EAGLE3_CONTRACT_GUARD",
        "EAGLE3_CONTRACT_GUARD_MODE",
        "EAGLE3_CONTRACT_GUARD_UNCHECKED",
    }
)
"""Variables of this project's tests, of servers launched on a CPU, and of a server's guard (``guards/settings.py``)."""

TRUE, FALSE = "true", "false"


class Source(IntEnum):
    """Where a value was given, strongest first."""

    OPTION = 0
    VARIABLE = 1
    INI = 2


class SettingError(Exception):
    """A choice that cannot be followed: one sentence that says why, and what to write instead."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing the user may choose.

    ``option``: its name on pytest's command line; the variable and the ini key follow from it. ``stage``: the
    stage whose subjects it names, if it does. ``path``: values are paths, relative to where they were written.
    ``command``: a value is a command line, or the path of a file that holds it. ``address``: a value may be a URL,
    which holds no secret.
    ``choices``: the only values there are. ``flag``: given without a value, it means "true". ``count``: a whole
    number from 1 on.
    """

    option: str
    help: str
    metavar: str = "VALUE"
    stage: str = ""
    many: bool = False
    path: bool = False
    command: bool = False
    address: bool = False
    flag: bool = False
    count: bool = False
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The ini key, and the option's destination."""
        return self.option.removeprefix("--").replace("-", "_")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return "EAGLE3_" + self.key.upper()

    def name_at(self, source: Source) -> str:
        """Name the setting as the user wrote it there."""
        return {Source.OPTION: self.option, Source.VARIABLE: self.variable, Source.INI: f"ini key {self.key}"}[source]


CONTRACT = Setting("--contract", "the contract: NAME, NAME@VERSION or the path of a .toml file", "NAME")
CAPTURE = Setting(
    "--contract-capture",
    "capture code under test: module:function, file.py:function (a trailing () marks a factory called with the "
    "contract), transformers[+DTYPE][:PATH], or embedded (repeatable)",
    "CODE",
    stage="capture",
    many=True,
)
HIDDEN_STATES = Setting(
    "--contract-hidden-states",
    "a dataset of hidden states: a folder or a file (repeatable)",
    "PATH",
    stage="dataset",
    many=True,
    path=True,
)
LAUNCH = Setting(
    "--contract-launch",
    "the command that starts the server: a file that holds it, or the command line (repeatable)",
    "COMMAND",
    stage="launch",
    many=True,
    command=True,
)
CHECKPOINT = Setting(
    "--contract-checkpoint",
    "an exported drafter: its folder, or a file of weights with config.json beside it (repeatable)",
    "DIR",
    stage="checkpoint",
    many=True,
    path=True,
)
LOADER = Setting(
    "--contract-loader",
    "training loader under test: speculators, specforge, specforge-data-plane, embedded, or module:factory "
    "(repeatable)",
    "CODE",
    stage="loader",
    many=True,
)
GOLDEN = Setting(
    "--contract-golden", "a golden recording: its folder (repeatable)", "DIR", stage="golden", many=True, path=True
)
SERVER = Setting(
    "--contract-server",
    "a live server: its URL (capture=URL or plain=URL if it drafts nothing), or launch, launch:capture, launch:plain "
    "to start one; a key goes into EAGLE3_SERVER_API_KEY, never into the URL (repeatable)",
    "URL|launch",
    stage="server",
    many=True,
    address=True,
)
TARGET = Setting("--contract-target", "the target's weights, whole or in part: a folder or a file", "PATH", path=True)
SUBJECT = Setting(
    "--contract-subject",
    "embedded: check the tiny target and datasets that the package brings along",
    "embedded",
    choices=("embedded",),
)
SCAN = Setting(
    "--contract-scan",
    "how much of a dataset is read: headers, sample (default) or full",
    "headers|sample|full",
    choices=("headers", "sample", "full"),
)
PROBES = Setting(
    "--contract-probes", "samples of a dataset that are held against the target (default 4)", "N", count=True
)
REQUIRE = Setting(
    "--contract-require", "stages, separated by commas, of which no clause may be skipped or unchecked", "STAGES"
)
STRICT = Setting("--contract-strict", "a violated should fails too", "true|false", flag=True, choices=(TRUE, FALSE))
REPORT = Setting(
    "--contract-report", "write the findings to this .json or .html file (repeatable)", "PATH", many=True, path=True
)

SETTINGS: tuple[Setting, ...] = (
    CONTRACT, CAPTURE, HIDDEN_STATES, LOADER, LAUNCH, CHECKPOINT, SERVER, GOLDEN, TARGET, SUBJECT, SCAN, PROBES,
    REQUIRE, STRICT, REPORT,
)  # fmt: skip
"""One row each. A stage that arrives later adds the row that names its subjects, and nothing else here."""

SUBJECT_SETTINGS: tuple[Setting, ...] = tuple(item for item in SETTINGS if item.stage)


@dataclass(frozen=True, slots=True)
class Given:
    """The values of one setting, and where they were given."""

    setting: Setting
    values: tuple[str, ...]
    source: Source

    @property
    def value(self) -> str:
        """The only value, or the last of several."""
        return self.values[-1]

    @property
    def name(self) -> str:
        """Name the setting as the user wrote it."""
        return self.setting.name_at(self.source)


@dataclass(frozen=True, slots=True)
class Places:
    """Where values come from: readers of the option and of the ini key by name, the environment, and two folders.

    The readers give None for what was not given, a string, or a list of strings.
    """

    option: Callable[[str], object]
    ini: Callable[[str], object]
    environ: Mapping[str, str]
    invoked_in: Path
    configured_in: Path


def read_settings(places: Places) -> dict[str, Given]:
    """Read every setting that was given, by option name; raise ``SettingError`` for an empty or unknown value."""
    found = (_read_setting(setting, places) for setting in SETTINGS)
    return {given.setting.option: given for given in found if given is not None}


def read_options(places: Places) -> tuple[str, ...]:
    """Name the options that stand on the command line."""
    return tuple(setting.option for setting in SETTINGS if places.option(setting.key) is not None)


def unknown_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Find the variables that look like settings and are none: name to the one that may have been meant, or ''."""
    known = [setting.variable for setting in SETTINGS]
    strange = sorted(name for name in environ if name.startswith(PREFIX) and name not in {*known, *OTHERS})
    if not strange:
        return {}
    import difflib

    meant = [*known, *sorted(OTHERS)]
    return {name: next(iter(difflib.get_close_matches(name, meant, n=1)), "") for name in strange}


def _read_setting(setting: Setting, places: Places) -> Given | None:
    raw = {
        Source.OPTION: places.option(setting.key),
        Source.VARIABLE: places.environ.get(setting.variable),
        Source.INI: places.ini(setting.key),
    }
    for source, value in raw.items():
        if value is not None:
            base = places.configured_in if source is Source.INI else places.invoked_in
            return Given(setting, _read_values(setting, source, value, base), source)
    return None


def _read_values(setting: Setting, source: Source, value: object, base: Path) -> tuple[str, ...]:
    """Split what was written into values: several stand on lines of their own, in a variable as in an ini file."""
    written = [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]
    if setting.command:
        written = [item.replace("\\\n", " ") for item in written]
    if source is not Source.OPTION and setting.many:
        written = [line for item in written for line in item.splitlines() if line.strip()]
    values = [item.strip() for item in written]
    name = setting.name_at(source)
    if not values or not all(values):
        raise SettingError(
            f"{name} is set but empty, so it is not known what to check; "
            f"give it a value ({setting.metavar}: {setting.help}) or remove it"
        )
    for item in values:
        if setting.choices and item not in setting.choices:
            raise SettingError(f"{name}: {item!r} is no choice; write one of {', '.join(setting.choices)}")
        if setting.count:
            read_count(name, item)
        if setting.address:
            refuse_secret(name, item)
    return tuple(anchor(setting, item, base) for item in values)


def read_count(name: str, value: str) -> int:
    """Read a whole number from 1 on; raise ``SettingError`` for anything else."""
    if not value.isascii() or not value.isdecimal() or not int(value):
        raise SettingError(f"{name}: {value!r} is no count; write a whole number from 1 on")
    return int(value)


def refuse_secret(name: str, value: str) -> None:
    """Refuse a URL with a user, password, query or fragment, without repeating it; raise ``SettingError``."""
    if "://" in value and any(sign in value for sign in "@?#"):
        raise SettingError(
            f"{name}: the URL holds a user, password, query or fragment, where secrets stand and which reports would "
            "show; give http://HOST:PORT alone, and a key in the variable EAGLE3_SERVER_API_KEY"
        )


def anchor(setting: Setting, value: str, base: Path) -> str:
    """Make what a value says of a path absolute, from the folder that it was written in.

    ``FORMAT:PATH`` and ``transformers:PATH`` keep their head, ``FILE.py:FUNCTION`` its tail; the name of a module is
    no path.
    """
    if setting.address:
        return value
    head, _, tail = value.partition(":")
    file, _, function = value.rpartition(":")
    if setting.command:
        return str(base / value) if os.path.lexists(base / value) else value
    if setting.path:
        plain = not tail or "/" in head or os.path.lexists(base / value)
        return str(base / value) if plain else f"{head}:{base / tail}"
    if value.endswith(".toml"):
        return str(base / value)
    if file.endswith(".py"):
        return f"{base / file}:{function}"
    built_in = head.partition("+")[0] == "transformers"
    return f"{head}:{base / tail}" if built_in and tail and os.path.lexists(base / tail) else value
