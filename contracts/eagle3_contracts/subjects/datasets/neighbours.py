"""What lies beside the samples: files in which tools say what they wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from eagle3_contracts.contract.stamp import STAMP_FILE
from eagle3_contracts.evidence import Problem
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.arrow import ArrowRows, find_arrow, open_arrow, read_json
from eagle3_contracts.subjects.datasets.stored import UnreadableError

_JSON_CAP = 64 << 20
"""Bytes; speculators' sample_lengths.json has one line for each sample."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What was found beside the samples.

    ``data_config`` and ``sample_lengths``: speculators 0.3 to 0.5; ``dataset``: TorchSpec's dataset.json; ``stamp``:
    a stamp of this project; ``arrow``: the Arrow dataset of speculators >= 0.5, whose ``hidden_states`` folder may
    itself be the subject.
    """

    data_config: Mapping[str, Any] | None = None
    sample_lengths: Mapping[str, Any] | None = None
    dataset: Mapping[str, Any] | None = None
    stamp: Mapping[str, Any] | None = None
    arrow: ArrowRows | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def stamped_format(self) -> str | None:
        """Give the format that the stamp names."""
        value = self.stamp.get("format") if self.stamp else None
        return value if isinstance(value, str) else None

    @property
    def declared(self) -> dict[str, Any]:
        """Give what the neighbours declare, for the evidence."""
        found = {"data_config": self.data_config, "dataset": self.dataset, "stamp": self.stamp}
        declared: dict[str, Any] = {key: value for key, value in found.items() if value is not None}
        flag = self.dataset.get("last_hidden_states_prenorm") if self.dataset else None
        if isinstance(flag, bool):
            declared["hidden_states_prenorm"] = flag
        return declared

    def doubt_lengths(self, lengths: Iterable[tuple[str, int]]) -> tuple[str, ...]:
        """Say in a note where sample_lengths.json disagrees with files: speculators 0.4 packs batches by it."""
        told = self.sample_lengths or {}
        wrong = []
        for name, rows in lengths:
            claimed = told.get(PurePosixPath(name).stem.rpartition("_")[2], rows)
            if claimed != rows:
                wrong.append(f"{name} has {rows} rows, there {str(claimed)[:20]}")
        if not wrong:
            return ()
        return (f"sample_lengths.json disagrees with {len(wrong)} files, by which batches are packed: {wrong[0]}",)


@dataclass(slots=True)
class _Finder:
    folder: Path
    problems: list[Problem] = field(default_factory=list)

    def table(self, name: str) -> Mapping[str, Any] | None:
        """Read one JSON table of the folder; None if it is not there or cannot be used, which is then a problem."""
        path = self.folder / name
        if not path.is_file() or path.is_symlink():
            return None
        where = Where(file=name)
        try:
            value = read_json(path, _JSON_CAP, where)
        except UnreadableError as error:
            self.problems.append(error.problem)
            return None
        if isinstance(value, dict):
            return value
        self.problems.append(Problem("corrupt", "no JSON table", "remove it or write it again", where))
        return None

    def arrow(self) -> ArrowRows | None:
        """Open the Arrow dataset here, or above a folder named hidden_states."""
        candidates = [self.folder]
        if self.folder.name == "hidden_states":
            candidates.append(self.folder.parent)
        folder = next((one for one in candidates if find_arrow(one)), None)
        if folder is None:
            return None
        try:
            return open_arrow(folder)
        except UnreadableError as error:
            self.problems.append(error.problem)
            return None


def read_neighbours(folder: Path) -> Neighbours:
    """Read what lies beside the samples of a folder."""
    finder = _Finder(folder)
    found = {name: finder.table(f"{name}.json") for name in ("data_config", "sample_lengths", "dataset")}
    stamp = finder.table(STAMP_FILE)
    if stamp is None and folder.name == "hidden_states":
        above = _Finder(folder.parent, finder.problems)
        stamp = above.table(STAMP_FILE)
    arrow = finder.arrow()
    return Neighbours(**found, stamp=stamp, arrow=arrow, problems=tuple(finder.problems))
