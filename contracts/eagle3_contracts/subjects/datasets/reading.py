"""The flow: a path becomes files, files become samples of one format, samples become one piece of evidence."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DatasetEvidence, Problem
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects import Options, SubjectError
from eagle3_contracts.subjects.datasets.arrow_rows import check_row, check_rows
from eagle3_contracts.subjects.datasets.containers import open_file
from eagle3_contracts.subjects.datasets.formats import BY_ID, DatasetFormat
from eagle3_contracts.subjects.datasets.merging import merge_all, merge_evidence
from eagle3_contracts.subjects.datasets.neighbours import Neighbours, read_neighbours
from eagle3_contracts.subjects.datasets.recognition import expectation_for, explain_mismatch, recognise_dataset
from eagle3_contracts.subjects.datasets.records import name_planes, record_data, record_headers
from eagle3_contracts.subjects.datasets.repeats import settle_repeats
from eagle3_contracts.subjects.datasets.sampling import sample_evenly
from eagle3_contracts.subjects.datasets.stored import Entry, FoundFile, Sample, UnreadableError
from eagle3_contracts.subjects.datasets.walking import Walk, walk_dataset

_RECOGNISED_BY = 8
"""Files whose headers decide the format of the dataset."""


Opened = dict[str, list[Entry] | Problem]
"""Files opened for recognition and not read yet, by name."""


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset to read: where it is, the format the user named, what lies beside it, what it is held against."""

    label: str
    path: Path
    named: DatasetFormat | None
    walk: Walk
    neighbours: Neighbours
    contract: Contract | None
    options: Options


@dataclass(slots=True)
class Reading:
    """What was read: evidence, and for each sample of the chosen format its file, index in it and length."""

    source: Source
    format: DatasetFormat | None
    evidence: DatasetEvidence
    samples: list[tuple[FoundFile, int, int]] = field(default_factory=list)


def open_source(label: str, value: str, contract: Contract | None, options: Options) -> Source:
    """Find a dataset: a folder or one file, with ``FORMAT:`` before the path to say its format.

    Raises ``SubjectError`` for a path that does not exist or may not be read.
    """
    prefix, _, rest = value.partition(":")
    named = BY_ID.get(prefix) if rest and not os.path.lexists(value) else None
    path = Path(rest if named else value)
    if not os.path.lexists(path):
        formats = f"; before a path, FORMAT: is one of {', '.join(BY_ID)}" if rest and not named else ""
        remedy = f"give the path of captured hidden states{formats}"
        raise SubjectError(value, "there is no such file or folder", remedy=remedy)
    if not path.exists():
        raise SubjectError(value, "a link that leads nowhere", remedy="mend the link, or give the real path")
    if not path.is_dir() and not path.is_file():
        raise SubjectError(value, "neither a folder nor a plain file", remedy="give a folder of hidden states")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise SubjectError(value, "may not be read (permissions)", remedy="make it readable for this user")
    walk = walk_dataset(path)
    return Source(label, path, named, walk, read_neighbours(walk.root), contract, options)


def read_dataset(source: Source) -> Reading:
    """Read a dataset: walk, recognise, read each chosen file once, merge."""
    options = source.options
    files = source.walk.files
    chosen = files if options.scan != "sample" else sample_evenly(files, options.sampled_files, options.seed)
    base = DatasetEvidence(
        source.label,
        scan=options.scan,
        files_found=len(files),
        problems=(*source.walk.problems, *source.neighbours.problems),
        notes=source.walk.notes,
        declared=source.neighbours.declared,
    )
    if not files:
        return Reading(source, None, dataclasses.replace(base, problems=(*base.problems, _emptiness(source))))
    opened: Opened = {}
    chosen_format, note, strange = _recognise(source, chosen, opened)
    found = dataclasses.replace(base, format=chosen_format.id if chosen_format else None)
    if note or strange:
        found = dataclasses.replace(
            found,
            notes=(*found.notes, *((note,) if note else ())),
            problems=(*found.problems, *strange),
        )
    reading = Reading(source, chosen_format, found)
    merged = merge_all(
        (_read_file(file, reading, opened) for file in chosen), DatasetEvidence(source.label, scan=options.scan)
    )
    evidence = settle_repeats(merge_evidence(found, merged))
    if chosen_format:
        problems = check_rows(source.walk, chosen_format, source.neighbours)
        lengths = [(file.name, rows) for file, _, rows in reading.samples]
        notes = (*evidence.notes, *source.neighbours.doubt_lengths(lengths))
        evidence = dataclasses.replace(evidence, problems=(*evidence.problems, *problems), notes=notes)
    reading.evidence = evidence
    return reading


def read_sample(entry: Entry, reading: Reading) -> Sample:
    """Read one entry in the dataset's format."""
    if reading.format is None:
        raise UnreadableError("unknown-format", "the dataset's format is not known", "name it", Where(file=entry.place))
    expected = expectation_for(reading.source.contract, reading.format.id)
    return reading.format.read(entry, reading.source.neighbours, expected)


def _recognise(
    source: Source, chosen: list[FoundFile], opened: Opened
) -> tuple[DatasetFormat | None, str, tuple[Problem, ...]]:
    """Recognise the dataset from a few readable files, or take the format that the user named.

    What is opened for that stays in ``opened``, so that no file is read twice.
    """
    if source.named:
        return source.named, "", ()
    entries: list[Entry] = []
    for file in chosen:
        found = _open(file, source.options)
        opened[file.name] = found
        entries += found[:1] if isinstance(found, list) else []
        if len(entries) == _RECOGNISED_BY:
            break
    choice, problems = recognise_dataset(entries, source.neighbours, source.contract, str(source.path))
    return (None if problems else choice.format), choice.note, problems


def _open(file: FoundFile, options: Options) -> list[Entry] | Problem:
    """Open a file, and compare its checksums if values are read at all; a problem if it cannot be read."""
    try:
        return open_file(file, sums=options.scan != "headers")
    except UnreadableError as error:
        return error.problem


def _read_file(file: FoundFile, reading: Reading, opened: Opened) -> DatasetEvidence:
    """Read one file once, into the record of its samples; what cannot be read is a problem of the record."""
    label, options = reading.source.label, reading.source.options
    entries = opened.pop(file.name, None) or _open(file, options)
    if isinstance(entries, Problem):
        return DatasetEvidence(label, scan=options.scan, problems=(entries,))
    empty = DatasetEvidence(label, scan=options.scan, files_read=1)
    return merge_all(_read_entries(file, entries, reading, data=options.scan != "headers"), empty)


def _read_entries(file: FoundFile, entries: list[Entry], reading: Reading, *, data: bool) -> Iterator[DatasetEvidence]:
    label, chosen, contract = reading.source.label, reading.format, reading.source.contract
    if chosen is None:
        return
    declared = [plane.name for plane in contract.stored_planes(chosen.id)] if contract else []
    for index, entry in enumerate(entries):
        problem = explain_mismatch(entry, chosen, contract)
        problems = [problem] if problem else []
        if problem is None or problem.kind == "missing":
            try:
                sample = read_sample(entry, reading)
                names = name_planes(declared, len(sample.planes))
                record = record_data(label, sample, names) if data else record_headers(label, sample)
                problems += check_row(entry, sample, reading.source.neighbours, chosen, data=data)
                yield dataclasses.replace(record, scan=reading.source.options.scan)
                reading.samples.append((file, index, sample.planes[0].rows if sample.planes else 0))
            except UnreadableError as error:
                problems.append(error.problem)
        yield DatasetEvidence(label, scan=reading.source.options.scan, problems=tuple(problems))


def _emptiness(source: Source) -> Problem:
    """Say that nothing here is a sample, and what is here."""
    held = ", ".join(source.walk.notes) or "it is empty"
    return Problem(
        "empty",
        f"the folder holds no .pt, .ckpt, .ckpt.gz or .safetensors file; {held}",
        "give the folder that holds the captured hidden states",
        Where(file=str(source.path)),
    )
