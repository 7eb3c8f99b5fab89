"""What the clauses on recordings must say at the edges: nothing to judge, one against several, long names, bounds."""

from __future__ import annotations

import dataclasses

from eagle3_contracts.evidence import GoldenEvidence, Problem, TensorHeader, WorstRow
from eagle3_contracts.findings import Where
from support.judging.golden_cases import CUT, NO_DRAFTER, NO_TARGET, OTHER_TARGET, SHORT, GoldenCase, case
from support.judging.golden_evidence import (
    drafted,
    logits,
    sequence,
    sequences,
    sound_golden,
    states,
)

NOTHING = GoldenEvidence("toy")
NO_SEQUENCE = sound_golden(sequences=(), states=(), logits=(), drafted=None, compared=())
NO_STATES = sound_golden(
    sequences=tuple(dataclasses.replace(item, states={}) for item in sequences()), states=(), logits=(), compared=()
)
_DRAFTS_CUT = Problem(
    "truncated", "holds 12 bytes, its header describes 700", "restore it", Where("drafts.safetensors")
)
DRAFTS_CUT = sound_golden(problems=(_DRAFTS_CUT,), drafted=None)
NEEDS = dataclasses.replace(NO_TARGET, problems=(Problem("needs", "the target needs torch", "pip install torch"),))
_MISFITS = {number: f"sequence {number}: no boundaries" for number in range(3)}
UNCOMPARED = dataclasses.replace(NO_TARGET, uncompared=_MISFITS)
PARTLY_UNCOMPARED = dataclasses.replace(NO_TARGET, uncompared={1: _MISFITS[1]})
TWO_SHORT = dataclasses.replace(SHORT, uncompared={1: _MISFITS[1], 2: _MISFITS[2]}, compared=(0,))
ONE_LOGIT = (logits("state"),)
LONG = "w" * 100
DIGESTS = {"digest": "a" * 64, "actual_digest": "b" * 64}


def replaced(number: int, **changes: object) -> GoldenEvidence:
    """Give a recording of which one sequence is changed."""
    found = list(sequences())
    found[number] = dataclasses.replace(found[number], **changes)  # type: ignore[arg-type]
    return sound_golden(sequences=tuple(found))


def tool(recorded: str, here: str) -> GoldenEvidence:
    """Give a recording by one version of a tool, where another is installed."""
    return sound_golden(versions={"torch": recorded}, installed={"torch": here})


def off(*planes: int, row: int | None = None) -> GoldenEvidence:
    """Give a recording of which some planes are off in the median, and one in a single row alone."""
    told = {f"r{at}": (0.2 + at / 10, 0.6, "") for at in planes}
    if row is not None:
        told[f"r{row}"] = (0.0017, 2.0, "")
    return sound_golden(states=(states(**told),))


FILES = (
    case("readable", "lists nothing", "must errored", NOTHING),
    case("readable", "no sequence", "must passed", NO_SEQUENCE),
    case("integrity", "lists nothing", "must errored", NOTHING),
)
ORIGIN = (
    case("contract", "of a long name", "must failed", sound_golden(contract=LONG)),
    case(
        "versions", "a patch of torch", "should failed", sound_golden(installed={"python": "3.11.7", "torch": "2.13.1"})
    ),
    case(
        "versions", "a long one", "should failed", sound_golden(versions={"torch": LONG}, installed={"torch": "2.13.0"})
    ),
    case(
        "versions",
        "no release",
        "should passed",
        sound_golden(versions={"torch": "local"}, installed={"torch": "local"}),
    ),
)
CONTENT = (
    case("sequences", "just enough", "must passed", sound_golden(sequences=(sequence(0, 64),))),
    case("sequences", "one token too few", "must failed", sound_golden(sequences=(sequence(0, 63),))),
    case("sequences", "without digests", "must passed", sound_golden(sequences=(sequence(0, 70, digest=""),))),
    case("sequences", "long digests", "must failed", replaced(1, **DIGESTS)),
    case("sequences", "two foreign ids", "must failed", replaced(1, token_ids=(64, -1, *range(28)))),
    case("shapes", "drafts cut off", "must errored", DRAFTS_CUT),
    case("shapes", "no sequence", "must errored", NO_SEQUENCE),
    case("shapes", "never drafted", "must passed", NO_DRAFTER),
    case("shapes", "drafts of a drafter that is not kept", "must passed", sound_golden(drafter=None)),
    case(
        "shapes",
        "drafts lost of a drafter that is not kept",
        "must failed",
        dataclasses.replace(replaced(1, drafts={}), drafter=None),
    ),
    case(
        "shapes",
        "no drafts of a drafter",
        "must failed, must failed",
        dataclasses.replace(NO_DRAFTER, drafter=sound_golden().drafter),
    ),
    case("shapes", "two forms", "must passed", sound_golden(sequences=(sequence(0, 40), sequence(1, 30, top_k=True)))),
    case("dtype", "no states", "must errored", NO_STATES),
    case(
        "dtype",
        "one tensor said otherwise",
        "must failed",
        replaced(1, states=sequence(1, 30).states | {"final": TensorHeader("float16", (30, 8))}),
    ),
    case("dtype", "a long one", "must failed", sound_golden(sequences=(sequence(0, 70, dtype=LONG),))),
    case("finite", "no states", "must errored", NO_STATES),
    case("finite", "states cut off", "must errored", CUT),
    case("finite", "drafts cut off", "must errored", DRAFTS_CUT),
)
RUN = (
    case("states", "cut off", "must errored", CUT),
    case("states", "beside drafts that are cut off", "must passed, must passed", DRAFTS_CUT),
    case("states", "no sequence", "must errored", NO_SEQUENCE),
    case("states", "of a target that cannot be run", "must errored", NEEDS),
    case("states", "of no sequence", "must errored", UNCOMPARED),
    case("states", "of some, and no target", "must skipped", PARTLY_UNCOMPARED),
    case("states", "two sequences short", "must passed, must passed, must errored", TWO_SHORT),
    case("states", "two routes", "must passed, must passed", sound_golden(routes=("torch", "numpy"))),
    case(
        "states", "both routes that recorded it", "must errored", sound_golden(route="torch", routes=("torch", "torch"))
    ),
    case("states", "by an unnamed route", "must passed, must passed", sound_golden(route="")),
    case(
        "states",
        "no tolerance for one of two",
        "must errored, must failed",
        sound_golden(states=(states("float16"), states(r3=(0.24, 0.4, "boundary 4")))),
    ),
    case(
        "states",
        "at its bounds",
        "must passed",
        sound_golden(states=(states(**{f"r{at}": (0.03, 0.3, "") for at in range(10)}),)),
    ),
    case("states", "without sinks", "must passed", sound_golden(states=(dataclasses.replace(states(), sinks=0),))),
    case("states", "three planes", "must failed, must failed, must failed", off(1, 2, 3)),
    case("states", "four planes", "must failed", off(1, 2, 3, 4)),
    case("states", "four planes, one in a single row", "must failed", off(1, 2, 3, row=5)),
    case("states", "the final state", "must failed", off(9)),
    case("states", "one row of the final state", "must failed", off(row=9)),
    case(
        "logits",
        "no tolerance for one of two",
        "must errored, must failed",
        sound_golden(logits=(logits("target", "float16"), logits("state", logprob_max=0.9))),
    ),
    case(
        "logits",
        "at its bounds",
        "must passed, must passed",
        sound_golden(logits=(logits("state"), logits(logprob_max=0.25, kl=0.25, worst=WorstRow(1, 4, 2.5)))),
    ),
    case(
        "logits",
        "drifted and diverging",
        "must failed, must passed",
        sound_golden(logits=(logits("state", logprob_max=0.9, kl=0.5, worst=WorstRow(1, 4, 6.4)), logits())),
    ),
    case("logits", "a sequence short", "must passed, must passed, must errored", SHORT),
    case(
        "logits",
        "a target that is another",
        "must passed, must errored",
        dataclasses.replace(OTHER_TARGET, logits=ONE_LOGIT),
    ),
    case(
        "logits",
        "a target that cannot be run",
        "must passed, must errored",
        dataclasses.replace(NEEDS, logits=ONE_LOGIT),
    ),
)


def undrafted(reasons: dict[int, str], **changes: object) -> GoldenEvidence:
    """Give a recording on which nothing was drafted again."""
    return sound_golden(drafted=None, undrafted=reasons, **changes)


_UNRELATED = (Problem("target", "the target is another", "give the target"),)
DRAFTS = (
    case("drafts", "states cut off", "must errored", CUT),
    case("drafts", "drafts cut off", "must errored", DRAFTS_CUT),
    case("drafts", "a drafter that is not kept", "must errored", undrafted({}, drafter=None)),
    case(
        "drafts",
        "no drafts of a drafter",
        "must errored",
        dataclasses.replace(NO_DRAFTER, drafter=sound_golden().drafter),
    ),
    case("drafts", "no sequence fits", "must errored", undrafted(_MISFITS, problems=_UNRELATED)),
    case(
        "drafts",
        "log-probabilities that were not compared",
        "must failed",
        sound_golden(drafted=drafted(distance=None)),
    ),
    case("drafts", "at its bounds", "must passed", sound_golden(drafted=drafted(0.98, 0.01))),
    case("drafts", "one row of two runs", "must failed", sound_golden(unfounded=1)),
)
CASES: tuple[GoldenCase, ...] = (*FILES, *ORIGIN, *CONTENT, *RUN, *DRAFTS)
