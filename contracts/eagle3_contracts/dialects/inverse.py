"""The inverse of a dialect: every list of ids that means a layout, or the reason why there is none.

Exact by enumeration: candidates are all orders of all choices of one id per tap, and each is read by the
dialect itself. Lists that repeat an id or hold one that is ignored are left out: they say the same with more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects.dialect import Dialect
from eagle3_contracts.dialects.rule import Ids

CANDIDATE_CAP = 50_000
"""Candidates read at most; six planes have 46,080 at two ids each. Beyond it ``Inverse.complete`` is false."""


@dataclass(frozen=True, slots=True)
class Inverse:
    """The lists that mean a layout.

    ``lists``: all of them, the plainest (most ascending) first; empty if the tool takes no ids. ``default``:
    leaving the ids out means the layout as well. ``stable``: the first that means it in every dialect asked
    for; ``unstable`` says why there is none. ``note``: what to mind about the list. ``complete``: nothing
    was left out for want of time.
    """

    lists: tuple[Ids, ...]
    default: bool
    stable: Ids | None = None
    unstable: str = ""
    note: str = ""
    complete: bool = True

    @property
    def ids(self) -> Ids | None:
        """The list to write down: the stable one, else the plainest; None if only the absence of ids will do."""
        return self.stable or (self.lists[0] if self.lists else None)


@dataclass(frozen=True, slots=True)
class Refusal:
    """No list, and no absence of one, means the layout; ``reason`` says why."""

    reason: str


def invert(dialect: Dialect, layout: Iterable[Tap], layers: int, *, over: Sequence[Dialect] = ()) -> Inverse | Refusal:
    """Find all lists that mean a layout in a dialect, and the one that means it in all of ``over``.

    ``layout``: taps in the order of concatenation. ``over``: dialects that one list should serve, the
    given one included or not; empty: the given one alone. Never guesses: every list was read back.
    """
    wanted = tuple(layout)
    if not wanted:
        return Refusal("the layout has no plane")
    found, complete = _search(dialect, wanted, layers)
    default = dialect.resolve(None, layers).means(wanted)
    if not found and not default:
        return Refusal(_explain_refusal(dialect, wanted, layers))
    others = tuple(other for other in over if other != dialect)
    stable = next((ids for ids in found if all(other.resolve(ids, layers).means(wanted) for other in others)), None)
    unstable = "" if stable is not None or not found else _explain_instability((dialect, *others), wanted, layers)
    note = dialect.resolve(stable or (found[0] if found else None), layers).note
    return Inverse(found, default, stable, unstable, note, complete)


def _search(dialect: Dialect, layout: tuple[Tap, ...], layers: int) -> tuple[tuple[Ids, ...], bool]:
    candidates = list(islice(_candidates(dialect, layout, layers), CANDIDATE_CAP + 1))
    complete = len(candidates) <= CANDIDATE_CAP
    means = {ids for ids in candidates[:CANDIDATE_CAP] if dialect.resolve(ids, layers).means(layout)}
    return tuple(sorted(means, key=_plainness)), complete


def _candidates(dialect: Dialect, layout: tuple[Tap, ...], layers: int) -> Iterator[Ids]:
    """Give every order of every choice of one id per tap, with and without what the tool appends."""
    appended = dialect.rule.appended(layers)
    for taps in (layout, *([tuple(tap for tap in layout if tap != appended)] if appended in layout else [])):
        for choice in product(*(dict.fromkeys(dialect.rule.ids_for(tap, layers)) for tap in taps)):
            if choice and len(set(choice)) == len(choice):
                yield from permutations(choice)


def _plainness(ids: Ids) -> tuple[object, ...]:
    """Order lists: the shortest first, then those with fewest pairs in descending order, then the smallest ids."""
    descents = sum(later < earlier for place, earlier in enumerate(ids) for later in ids[place + 1 :])
    return len(ids), descents, tuple(abs(value) for value in ids), ids


def _explain_refusal(dialect: Dialect, layout: tuple[Tap, ...], layers: int) -> str:
    """Say why no list means a layout: a tap out of reach, the number of planes, their order, or the list itself."""
    rule = dialect.rule
    reach = set(rule.reach(layers))
    missing = [tap for tap in dict.fromkeys(layout) if tap not in reach]
    if missing:
        return "; ".join(dict.fromkeys(rule.unreachable(tap, layers) for tap in missing))
    if not any(rule.ids_for(tap, layers) for tap in layout):
        return rule.unreachable(layout[0], layers)
    if rule.exactly is not None and len(layout) != rule.exactly:
        return f"it takes exactly {rule.exactly} planes, and the layout has {len(layout)}"
    appended = rule.appended(layers)
    if appended is not None and appended not in layout:
        return f"it adds {appended} to every list, and the layout ends without it"
    arranged = rule.arrange(layout, layers)
    if arranged != layout:
        return f"it concatenates {_say(arranged)} whatever the list's order, and the layout is {_say(layout)}"
    return _explain_list(dialect, layout, layers)


def _explain_list(dialect: Dialect, layout: tuple[Tap, ...], layers: int) -> str:
    """Say what the plainest candidate comes to, where every tap can be had but not all of them together."""
    ids = next(_candidates(dialect, layout, layers), None)
    if ids is None:
        return f"no list of distinct ids gives {_say(layout)}"
    resolution = dialect.resolve(ids, layers)
    outcome = f"gives {_say(resolution.taps)}" if resolution.runs else f"{resolution.outcome}: {resolution.note}"
    return f"no list gives {_say(layout)}; {list(ids)}, for one, {outcome}"


def _explain_instability(dialects: tuple[Dialect, ...], layout: tuple[Tap, ...], layers: int) -> str:
    """Say what each range of versions would need, where no one list serves all."""
    needs: dict[str, list[str]] = {}
    for dialect in sorted(dialects, key=lambda item: [len(item.versions), item.versions]):
        found, _ = _search(dialect, layout, layers)
        need = str(list(found[0])) if found else _explain_refusal(dialect, layout, layers)
        needs.setdefault(need, []).append(dialect.versions or dialect.tool.last_read)
    told = "; ".join(f"{need} in {' and '.join(versions)}" for need, versions in needs.items())
    return f"no one list means it in all of these versions: {told}"


def _say(taps: Iterable[Tap]) -> str:
    return ", ".join(str(tap) for tap in taps) or "nothing"
