"""What the clauses on recordings must say."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import GoldenEvidence, Problem, RecordedFile, TensorHeader, WorstRow
from eagle3_contracts.findings import Finding, Where
from eagle3_contracts.registry import clause
from eagle3_contracts.run import judge_clause
from support.judging.documents import toy_contract
from support.judging.golden_evidence import (
    TOY,
    drafted,
    drafter,
    logits,
    sequence,
    sequences,
    sound_golden,
    states,
)


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """``expected``: level and verdict of each finding, in order."""

    clause: str
    name: str
    expected: tuple[str, ...]
    evidence: GoldenEvidence
    contract: Contract = TOY

    @property
    def title(self) -> str:
        """Name the case for a test."""
        return f"{self.clause}: {self.name}"

    def judge(self) -> list[Finding]:
        """Judge the case as a run does."""
        return judge_clause(clause(self.clause), self.contract, self.evidence)


def case(
    clause_id: str, name: str, expected: str, evidence: GoldenEvidence | None = None, contract: Contract = TOY
) -> GoldenCase:
    """Make a case; ``expected`` lists the findings, joined by ``, ``."""
    found = sound_golden() if evidence is None else evidence
    return GoldenCase(f"golden.{clause_id}", name, tuple(expected.split(", ")), found, contract)


ABSENT = GoldenEvidence(
    "toy",
    problems=(Problem("missing", "there is no recording in golden/toy", "record it", Where(file="manifest.json")),),
)
NO_JSON = GoldenEvidence(
    "toy", problems=(Problem("corrupt", "manifest.json is no JSON", "record it", Where(file="manifest.json")),)
)
_CUT = Problem("truncated", "holds 512 bytes, its header describes 90000", "restore it", Where("states.safetensors"))
CUT = sound_golden(problems=(_CUT,), states=(), logits=(), drafted=None, sequences=sequences(states={}, nonfinite={}))
HEADERS = sound_golden(scan="headers", states=(), logits=(), drafted=None, compared=(), routes=())
NO_TARGET = sound_golden(states=(), logits=(), compared=(), routes=())
_CONTRADICTS = Problem("target", "target: not the target of toy-eagle3@1.0.0: hidden_size is 16", "give the target")
OTHER_TARGET = dataclasses.replace(NO_TARGET, problems=(_CONTRADICTS,))
_SHORT = {**sequence(1, 30).states, "boundaries": TensorHeader("bfloat16", (9, 29, 8))}
SHORT = sound_golden(
    sequences=sequences(states=_SHORT),
    uncompared={1: "sequence 1: boundaries is [9, 29, 8], not [9, 30, 8]"},
    undrafted={1: "sequence 1: boundaries is [9, 29, 8], not [9, 30, 8]"},
    compared=(0, 2),
)
PINNED = toy_contract(target={"weights_sha256": "b" * 64})
TOP_K = sound_golden(
    sequences=(sequence(0, 40, top_k=True), sequence(1, 30, top_k=True)), logits=(logits(form="top-k"), logits("state"))
)
NO_DRAFTER = sound_golden(
    drafter=None, drafted=None, sequences=tuple(dataclasses.replace(item, drafts={}) for item in sequences())
)
_NAN = sequences(nonfinite={"logits": 2, "drafts top_logits": 1})


def _files(**second: object) -> GoldenEvidence:
    first, last = sound_golden().files
    return sound_golden(files=(first, dataclasses.replace(last, **second)))  # type: ignore[arg-type]


def _problem(kind: str, reason: str) -> GoldenEvidence:
    return sound_golden(drafted=None, problems=(Problem(kind, reason, "mend it"),))


FILES = (
    case("readable", "whole", "must passed"),
    case("readable", "absent", "must errored", ABSENT),
    case("readable", "a manifest that is none", "must failed", NO_JSON),
    case("readable", "states cut off", "must failed", CUT),
    case("integrity", "as listed", "must passed"),
    case("integrity", "altered", "must failed", _files(found=("6" * 64, 90_000))),
    case("integrity", "another size", "must failed", _files(found=("6" * 64, 80_000))),
    case("integrity", "lost", "must failed", _files(found=None)),
    case("integrity", "left over", "must failed", sound_golden(files=(RecordedFile("old", None, ("", 3)),))),
    case("integrity", "outside", "must failed", _problem("unsafe", "names a file outside the recording: '../x'")),
    case("integrity", "headers only", "must errored", _files(found=("", 90_000))),
    case("integrity", "absent", "must errored", ABSENT),
)
ORIGIN = (
    case("contract", "of this contract", "must passed"),
    case("contract", "of these weights", "must passed", sound_golden(PINNED, target_digest="b" * 64), PINNED),
    case("contract", "of another version", "must failed", sound_golden(contract="toy-eagle3@0.9.0")),
    case("contract", "of a changed document", "must failed", sound_golden(digest="0" * 64)),
    case("contract", "of other weights", "must failed", sound_golden(PINNED), PINNED),
    case("contract", "says little", "must passed, must errored", sound_golden(digest="", target_digest="")),
    case("contract", "absent", "must errored", ABSENT),
    case("versions", "as installed", "should passed"),
    case("versions", "another torch", "should failed", sound_golden(installed={"python": "3.11.9", "torch": "2.14.1"})),
    case(
        "versions",
        "none here",
        "should failed, should failed",
        sound_golden(installed={"python": "3.12.1", "torch": None}),
    ),
    case("versions", "does not say", "should errored", sound_golden(versions={}, installed={})),
    case("versions", "absent", "should errored", ABSENT),
)
CONTENT = (
    case("sequences", "distinct", "must passed"),
    case("sequences", "foreign id", "must failed", sound_golden(sequences=sequences(token_ids=(3, 64, *range(28))))),
    case("sequences", "another length", "must failed", sound_golden(sequences=sequences(length=31))),
    case("sequences", "edited", "must failed", sound_golden(sequences=sequences(digest="other"))),
    case("sequences", "twice", "must failed", sound_golden(sequences=(*sequences(), sequence(3, 1, token_ids=(2,))))),
    case("sequences", "too few", "must failed", sound_golden(sequences=sequences()[1:])),
    case("sequences", "absent", "must errored", ABSENT),
    case("shapes", "as declared", "must passed"),
    case("shapes", "largest logits", "must passed", TOP_K),
    case("shapes", "a row short", "must failed", SHORT),
    case("shapes", "drafts lost", "must failed", sound_golden(sequences=sequences(drafts={}))),
    case(
        "shapes",
        "ids as floats",
        "must failed",
        sound_golden(
            sequences=(sequence(0, 70, drafts={**sequence(0, 70).drafts, "drafted": TensorHeader("float32", (69, 3))}),)
        ),
    ),
    case("shapes", "cut off", "must errored", CUT),
    case("dtype", "as stated", "must passed"),
    case("dtype", "largest logits in float32", "must passed", TOP_K),
    case("dtype", "said otherwise", "must failed", sound_golden(sequences=sequences(dtype="float32"))),
    case("dtype", "no tolerance", "must failed", sound_golden(sequences=(sequence(0, 70, dtype="float16"),))),
    case("dtype", "cut off", "must errored", CUT),
    case("finite", "finite", "must passed"),
    case("finite", "NaN", "must failed, must failed", sound_golden(sequences=_NAN)),
    case("finite", "headers only", "must errored", HEADERS),
)
_LATE = states(**{f"r{at}": (0.4, 0.6, f"boundary {at + 1}") for at in range(7)})
_ONE_PLANE = states(r3=(0.24, 0.4, "boundary 4"))
RUN = (
    case("states", "as computed", "must passed, must passed"),
    case("states", "one plane late", "must failed", sound_golden(states=(_ONE_PLANE,))),
    case("states", "all late", "must failed", sound_golden(states=(_LATE,))),
    case("states", "one row", "must failed", sound_golden(states=(states(r6=(0.0017, 2.0, "")),))),
    case("states", "not a number", "must failed", sound_golden(states=(states(r6=(float("inf"), float("inf"), "")),))),
    case("states", "no tolerance", "must errored", sound_golden(states=(states("float16"),))),
    case("states", "the route that recorded it", "must errored", sound_golden(routes=("numpy",))),
    case("states", "a sequence short", "must passed, must passed, must errored", SHORT),
    case("states", "no target", "must skipped", NO_TARGET),
    case("states", "another target", "must errored", OTHER_TARGET),
    case("states", "headers only", "must errored", HEADERS),
    case("logits", "as computed", "must passed, must passed"),
    case("logits", "largest", "must passed, must passed", TOP_K),
    case(
        "logits", "drifted", "must passed, must failed", sound_golden(logits=(logits("state"), logits(logprob_max=0.9)))
    ),
    case("logits", "diverging", "must failed, must passed", sound_golden(logits=(logits("state", kl=0.5), logits()))),
    case(
        "logits",
        "one row",
        "must passed, must failed",
        sound_golden(logits=(logits("state"), logits(worst=WorstRow(1, 4, 6.4)))),
    ),
    case("logits", "no target of its own", "must passed, must errored", sound_golden(logits=(logits("state"),))),
    case("logits", "no target", "must skipped", NO_TARGET),
    case("logits", "cut off", "must errored", CUT),
)
DRAFTS = (
    case("drafter", "as declared", "must passed"),
    case("drafter", "another width", "must failed", sound_golden(drafter=drafter(fc=(8, 32)))),
    case("drafter", "not kept", "must failed", sound_golden(drafter=None)),
    case("drafter", "never recorded", "must skipped", NO_DRAFTER),
    case("drafter", "absent", "must errored", ABSENT),
    case("drafts", "drafted again", "must passed"),
    case("drafts", "of another drafter", "must failed, must failed", sound_golden(drafted=drafted(0.53, 12.0))),
    case("drafts", "other logits", "must failed", sound_golden(drafted=drafted(distance=float("inf")))),
    case("drafts", "of two runs", "must failed", sound_golden(unfounded=4)),
    case("drafts", "a sequence short", "must passed, must errored", SHORT),
    case("drafts", "cannot be run", "must errored", _problem("drafted", "fc is [8, 32], not [8, 24]")),
    case("drafts", "no tolerance", "must errored", sound_golden(), TOY.model_copy(update={"tolerance": {}})),
    case("drafts", "never recorded", "must skipped", NO_DRAFTER),
)
CASES = (*FILES, *ORIGIN, *CONTENT, *RUN, *DRAFTS)
