"""What the clauses on a training loader must say."""

from __future__ import annotations

import dataclasses

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import BAD, STRANGE, ZEROS, LoaderEvidence, Problem
from support.judging.cases import Case
from support.judging.documents import toy_contract
from support.judging.loader_changes import (
    ABSENT,
    BROKEN,
    EMBEDDED,
    FILTERED,
    KNOWN,
    ONE,
    RAISES,
    UNKNOWN,
    WIDE,
    bad,
    cut_in_front,
    end_trained,
    ends,
    first_column,
    infected,
    mask_at,
    moved,
    overlong_alone,
    padded_mask,
    replaced,
    without,
)
from support.judging.loader_evidence import edited, left_out, overlong, rows, run, sound_loader, take


def case(
    clause_id: str, name: str, expected: str, evidence: LoaderEvidence | None = None, contract: Contract | None = None
) -> Case:
    """Make a case of the loader stage; ``expected`` lists the findings, joined by ``, ``."""
    found = tuple(expected.split(", "))
    return Case(f"loader.{clause_id}", name, found, evidence or sound_loader(), contract or toy_contract())


WIRING: tuple[Case, ...] = (
    case("runs", "gives step zero", "must passed"),
    case("runs", "does not end by itself", "must passed", sound_loader(sound=run(stopped=True))),
    case("runs", "raises on a sound dataset", "must failed", RAISES),
    case("runs", "raises in its factory", "must failed", BROKEN),
    case(
        "runs",
        "gives no step zero",
        "must failed",
        sound_loader(sound=run(rows=None, misfit=Problem("unsupported", "tokens is [9] beside 8 rows", "give [N]"))),
    ),
    case("runs", "needs a package", "must errored", ABSENT),
    case("runs", "reads a format that is not written here", "must errored", UNKNOWN),
    case("fc-input", "as declared", "must passed"),
    case("fc-input", "the story", "must failed", EMBEDDED),
    case("fc-input", "in another order", "must failed", edited(plane=lambda plane: plane[:, [2, 1, 0, 3]])),
    case(
        "fc-input",
        "an average of two planes",
        "must failed",
        edited(plane=lambda plane: np.where(plane == 1, STRANGE, plane)),
    ),
    case(
        "fc-input",
        "several wirings",
        "must failed",
        edited(plane=lambda plane: np.where(rows().sample == 2, plane[:, ::-1], plane)),
    ),
    case("fc-input", "a plane is not stored", "must errored", sound_loader(stored=("low", "mid", "final"))),
    case("fc-input", "zeros alone", "must errored", edited(plane=lambda plane: plane * 0 + ZEROS)),
    case("fc-input", "was not run", "must errored", ABSENT),
    case("fc-input", "one plane", "must failed", edited(), ONE),
    case("row-identity", "of one token", "must passed"),
    case("row-identity", "one plane moved", "must failed", edited(position=lambda position: first_column(position, 1))),
    case("row-identity", "nothing placed", "must errored", edited(sample=lambda sample: sample * 0 + STRANGE)),
    case("last-hidden", "as declared", "must passed"),
    case("last-hidden", "another plane", "must failed", edited(plane=lambda plane: np.where(plane == 3, 2, plane))),
    case("last-hidden", "none at all", "must failed", edited(last_dtype=None)),
    case("last-hidden", "none declared", "must skipped", contract=toy_contract("embed", "low", "mid", "high")),
    case("last-hidden", "raises", "must errored", RAISES),
)

ALIGNMENT: tuple[Case, ...] = (
    case("token-shift", "shifted once", "must passed"),
    case("token-shift", "shifted once, with rows at the ends", "must passed", ends()),
    case("token-shift", "one of several that are accepted", "must passed", contract=WIDE),
    case("token-shift", "one of several, with rows at the ends", "must passed", ends(), WIDE),
    case("token-shift", "not shifted", "must failed", edited(tokens=lambda tokens: np.maximum(tokens - 1, 0))),
    case("token-shift", "of another sample", "must failed", edited(tokens=lambda tokens: np.roll(tokens, 20))),
    case("token-shift", "nothing placed", "must errored", edited(sample=lambda sample: sample * 0 + STRANGE)),
    case("target-shift", "shifted once", "must passed"),
    case("target-shift", "shifted once, with rows at the ends", "must passed", ends()),
    case("target-shift", "one of several that are accepted", "must passed", contract=WIDE),
    case("target-shift", "one of several, with rows at the ends", "must passed", ends(), WIDE),
    case("target-shift", "not shifted", "must failed", edited(position=lambda p: np.column_stack([p[:, :3], p[:, 0]]))),
    case("target-shift", "none given", "must errored", edited(last_dtype=None)),
    case(
        "target-shift",
        "none given, none declared",
        "must skipped",
        edited(last_dtype=None),
        toy_contract("embed", "low", "mid", "high"),
    ),
    case("mask-shift", "l[t+1]", "must passed"),
    case("mask-shift", "l[t+1], targets outside the vocabulary excused", "must passed", FILTERED),
    case("mask-shift", "l[t+1], with rows at the ends", "must passed", ends()),
    case("mask-shift", "shifted twice", "must failed", edited(trained=mask_at(2))),
    case("mask-shift", "of another sample", "must failed", edited(trained=lambda trained: np.roll(trained, 20))),
    case("mask-shift", "nothing trained", "must failed", edited(trained=lambda trained: trained & False)),
    case("mask-shift", "no mask", "must errored", edited(masked=False)),
    case("mask-shift", "nothing placed", "must errored", edited(sample=lambda sample: sample * 0 + STRANGE)),
    case("position-shift", "from zero", "must passed"),
    case("position-shift", "from one", "must passed", edited(positions=lambda positions: positions + 1)),
    case("position-shift", "running on", "must failed", edited(positions=np.arange(len(rows())))),
    case("position-shift", "none given", "must skipped", edited(positions=None)),
    case("position-shift", "raises", "must errored", RAISES),
)

PACKS: tuple[Case, ...] = (
    case("packing", "a document each", "must passed"),
    case("packing", "joined", "must failed", edited(documents=lambda documents: np.minimum(documents, 0))),
    case(
        "packing",
        "divided",
        "must failed",
        edited(documents=lambda documents: documents + 8 * (rows().position[:, 0] > 3)),
    ),
    case(
        "packing",
        "out of order",
        "must failed",
        edited(
            position=lambda position: position[::-1].copy(),
            sample=lambda s: s[::-1].copy(),
            documents=lambda d: d[::-1].copy(),
        ),
    ),
    case("packing", "was not run", "must errored", ABSENT),
    case("padding", "not trained", "must passed"),
    case("padding", "not trained, with rows at the ends", "must passed", ends()),
    case("padding", "trained at an end", "must failed", end_trained()),
    case("padding", "trained", "must failed", edited(trained=padded_mask)),
    case("padding", "no mask", "must errored", edited(masked=False)),
    case("truncation", "cut as one", "must passed"),
    case("truncation", "cut as one, without last hidden", "must passed", bad("overlong", overlong_alone())),
    case("truncation", "refused", "must passed", bad("overlong", overlong(rows=None, refusal="ValueError: too long"))),
    case(
        "truncation",
        "left out with a word",
        "must passed",
        bad("overlong", overlong(rows=rows(without=BAD), reports=("log: too long",))),
    ),
    case("truncation", "left out in silence", "should failed", bad("overlong", overlong(rows=rows(without=BAD)))),
    case("truncation", "cut at both ends", "must failed", bad("overlong", cut_in_front())),
    case("truncation", "no length known", "must skipped", without("overlong")),
    case("truncation", "raises", "must errored", RAISES),
    case("coverage", "each once", "should passed"),
    case("coverage", "each once, with rows at the ends", "should passed", ends()),
    case("coverage", "one of several shifts, with rows at the ends", "should passed", ends(), WIDE),
    case("coverage", "one lost", "should failed", sound_loader(sound=run(rows=rows(without=3)))),
    case(
        "coverage",
        "one twice",
        "should failed",
        sound_loader(
            sound=dataclasses.replace(run(), rows=take(rows(), np.concatenate([np.arange(len(rows())), np.arange(12)])))
        ),
    ),
    case("coverage", "without an end", "should errored", sound_loader(sound=run(stopped=True))),
)

NUMBERS: tuple[Case, ...] = (
    case("dtype", "as stored", "must passed"),
    case("dtype", "wider", "must passed", edited(fc_dtype="float32")),
    case("dtype", "float16", "must failed", edited(fc_dtype="float16")),
    case("dtype", "raises", "must errored", RAISES),
    case("values", "as stored", "must passed"),
    case("values", "with noise", "must passed", edited(amplitude=np.array([1.02, 0.98, 1.0, 1.01]))),
    case("values", "unscaled", "must failed", edited(amplitude=np.array([1.0, 5.96, 1.0, 1.0]))),
    case("values", "nothing decoded", "must errored", edited(amplitude=np.full(4, np.nan))),
    case("read-only", "as before", "must passed"),
    case("read-only", "written back", "must failed", sound_loader(sound=run(changed=("data_0.pt", "data_1.pt")))),
    case("read-only", "a file beside", "should failed", bad("corrupt", left_out(added=("cache.arrow",)))),
    case("read-only", "was not run", "must errored", ABSENT),
    case("draft-vocabulary", "filtered", "must passed", FILTERED),
    case("draft-vocabulary", "not filtered", "must failed", KNOWN),
    case(
        "draft-vocabulary",
        "another vocabulary",
        "must failed",
        FILTERED,
        toy_contract(drafter={"draft_vocab_size": 30}),
    ),
    case("draft-vocabulary", "not known", "must skipped"),
    case("draft-vocabulary", "raises", "must errored", RAISES),
)

BAD_SAMPLES: tuple[Case, ...] = (
    case("nonfinite", "left out with a word", "must passed"),
    case("nonfinite", "refused", "must passed", bad("nonfinite", left_out(refusal="ValueError: NaN in data_1.pt"))),
    case("nonfinite", "left out in silence", "should failed", bad("nonfinite", left_out(reports=()))),
    case("nonfinite", "trained", "must failed", bad("nonfinite", infected())),
    case("nonfinite", "attended", "must failed", bad("nonfinite", infected(trained=False))),
    case("nonfinite", "raises", "must errored", RAISES),
    case("row-count", "left out with a word", "must passed"),
    case(
        "row-count",
        "a batch that no model takes",
        "must passed",
        bad("row-surplus", run(rows=None, misfit=Problem("unsupported", "tokens is [9] beside 10 rows", ""))),
    ),
    case("row-count", "taken in silence, in step", "should failed", bad("row-surplus", run())),
    case("row-count", "trained out of step", "must failed", bad("row-missing", moved(-1))),
    case("row-count", "raises", "must errored", RAISES),
    case("neighbours", "as without it", "must passed"),
    case(
        "neighbours",
        "refused",
        "must passed",
        bad("row-missing", run(rows=None, refusal="ValueError: 8 rows for 9 ids")),
    ),
    case(
        "neighbours",
        "moved",
        "must failed, must failed",
        sound_loader(runs={"row-missing": moved(-1), "row-surplus": moved(1)}),
    ),
    case("neighbours", "raises", "must errored", RAISES),
    case("stored-tokens", "left out with a word", "must passed"),
    case("stored-tokens", "trained", "must failed", bad("foreign", run())),
    case("stored-tokens", "kept once", "must skipped", without("foreign")),
    case("stored-tokens", "raises", "must errored", RAISES),
    case("unreadable", "left out with a word", "must passed"),
    case("unreadable", "replaced", "must failed", bad("corrupt", replaced())),
    case("unreadable", "passed over in silence", "should failed", bad("missing", left_out(reports=()))),
    case("unreadable", "raises", "must errored", RAISES),
)

CASES: tuple[Case, ...] = (*WIRING, *ALIGNMENT, *PACKS, *NUMBERS, *BAD_SAMPLES)
