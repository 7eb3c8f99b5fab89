"""Which format a dataset is: by structure first, then by what files, neighbours, stamp and contract say.

Where several formats fit and nothing decides between them, the dataset is ambiguous and the candidates are named;
only if they read the same planes in the same order for the contract at hand does the check go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Problem
from eagle3_contracts.findings import Where
from eagle3_contracts.subjects.datasets.formats import BY_ID, FORMATS, DatasetFormat, Expectation
from eagle3_contracts.subjects.datasets.neighbours import Neighbours
from eagle3_contracts.subjects.datasets.stored import Entry, StoredTensor


@dataclass(frozen=True, slots=True)
class Choice:
    """What one entry or a whole dataset was recognised as. ``format`` is None where nothing fits or decides."""

    format: DatasetFormat | None
    candidates: tuple[DatasetFormat, ...] = ()
    note: str = ""


def expectation_for(contract: Contract | None, format_id: str) -> Expectation:
    """Give what the contract leads one to expect of a format's files."""
    if contract is None:
        return Expectation()
    stored = contract.stored_planes(format_id)
    return Expectation(contract.target.hidden_size, len(stored), stored[-1].is_final)


def recognise_entry(entry: Entry, neighbours: Neighbours, contract: Contract | None) -> Choice:
    """Recognise one entry: structure, completeness, stamp, marks, the contract's formats, a shared reading."""
    fitting = [item for item in FORMATS if item.mismatch(entry, expectation_for(contract, item.id)) is None]
    complete = [item for item in fitting if not item.missing_keys(entry)] or fitting
    stamped = [item for item in fitting if item.id == neighbours.stamped_format]
    marked = [item for item in complete if item.marks(entry, neighbours)]
    declared = [item for item in complete if contract is not None and item.id in contract.storage.formats]
    for narrowed in (stamped, complete, marked, declared):
        if len(narrowed) == 1:
            return Choice(narrowed[0], tuple(complete))
    left = marked or complete
    if left and _read_alike(left, contract):
        names = " or ".join(item.id for item in left)
        return Choice(left[0], tuple(left), f"may be {names}: both read as the same planes; taken for {left[0].id}")
    return Choice(None, tuple(left))


def recognise_dataset(
    entries: Sequence[Entry], neighbours: Neighbours, contract: Contract | None, root: str
) -> tuple[Choice, tuple[Problem, ...]]:
    """Recognise a dataset by the format that most of a few files have; problems say why it cannot be, file by file."""
    choices = [recognise_entry(entry, neighbours, contract) for entry in entries]
    votes = Counter(choice.format.id for choice in choices if choice.format)
    if votes:
        winner = votes.most_common(1)[0][0]
        return next(choice for choice in choices if choice.format and choice.format.id == winner), ()
    for entry, choice in zip(entries, choices, strict=True):
        if choice.candidates:
            return choice, (_ambiguity(entry, choice, root),)
    return Choice(None), tuple(_strangeness(entry, contract) for entry in entries)


def explain_mismatch(entry: Entry, chosen: DatasetFormat, contract: Contract | None) -> Problem | None:
    """Say why an entry is not of the dataset's format, or lacks one of its keys; None if it fits and is complete."""
    reason = chosen.mismatch(entry, expectation_for(contract, chosen.id))
    where = Where(file=entry.place)
    if reason is not None:
        return Problem(
            "unknown-format",
            f"not {chosen.id} like the rest: {chosen.id} {reason}; it holds {_contents(entry)}",
            f"remove it or write it again with {chosen.written_by}; to read another format, write FORMAT:PATH",
            where,
        )
    missing = chosen.missing_keys(entry)
    if missing:
        return Problem(
            "missing",
            f"lacks {', '.join(missing)}, which {chosen.written_by} needs; it holds {_contents(entry)}",
            "capture this sample again, with every key",
            where,
        )
    return None


def _read_alike(candidates: Sequence[DatasetFormat], contract: Contract | None) -> bool:
    """Tell whether the candidates read one file as the same planes, and the contract stores the same in each."""
    if len({(item.states, item.tokens) for item in candidates}) > 1 and not _same_layout(candidates):
        return False
    if contract is None:
        return True
    return len({tuple(plane.name for plane in contract.stored_planes(item.id)) for item in candidates}) == 1


def _same_layout(candidates: Sequence[DatasetFormat]) -> bool:
    """Tell whether candidates take planes from the same keys; ModelOpt's one layout is TorchSpec's first."""
    layouts = [set(getattr(item.states, "layouts", ())) for item in candidates]
    return all(layouts) and bool(set.intersection(*layouts))


def _ambiguity(entry: Entry, choice: Choice, root: str) -> Problem:
    names = [item.id for item in choice.candidates]
    first = names[0]
    return Problem(
        "ambiguous",
        f"may be {' or '.join(names)}: the tensors fit each, the contract stores other planes in one than in the "
        f"other, and neither file names nor neighbours decide; it holds {_contents(entry)}",
        f"say which: {first}:{root}, or keep the order under storage.formats of the one that is meant",
        Where(file=entry.place),
    )


def _strangeness(entry: Entry, contract: Contract | None) -> Problem:
    """Say what an unknown file holds, and what the nearest formats would need."""
    tries = {item.id: item.mismatch(entry, expectation_for(contract, item.id)) or "" for item in FORMATS}
    near = [f"{name} {reason}" for name, reason in tries.items() if not reason.startswith("is kept in")]
    return Problem(
        "unknown-format",
        f"no dataset format fits; it holds {_contents(entry)}. " + "; ".join(near),
        "give a folder of captured hidden states; formats: " + ", ".join(BY_ID),
        Where(file=entry.place),
    )


def _contents(entry: Entry) -> str:
    """Say in one line what an entry holds: at most a dozen keys, with dtype and shape."""
    texts = []
    for key, value in list(entry.values.items())[:12]:
        if isinstance(value, StoredTensor):
            texts.append(f"{key[:60]} {value.dtype} {list(value.shape)}")
        elif isinstance(value, tuple):
            texts.append(f"{key[:60]} list of {len(value)} tensors")
        else:
            texts.append(f"{key[:60]} ({type(value).__name__})")
    more = len(entry.values) - len(texts)
    return (", ".join(texts) or "nothing") + (f" and {more} more" if more > 0 else "")
