"""What the clauses on a training loader must say at the edges: nothing to judge, one against several, odd shifts."""

from __future__ import annotations

import dataclasses

import numpy as np

from eagle3_contracts.evidence import (
    NOT_FINITE,
    STRANGE,
    ZEROS,
    LoaderEvidence,
    Problem,
)
from support.judging.cases import Case
from support.judging.documents import toy_contract
from support.judging.loader_cases import case
from support.judging.loader_changes import (
    BROKEN,
    RAISES,
    STRAY,
    TARGETS,
    VOCABULARY,
    WIDE,
    again,
    all_counted,
    at_row,
    bad,
    fed,
    in_batches,
    infected,
    mask_at,
    mixed,
    repeating,
    replaced,
    shared,
    shifted,
    torn,
    unshifted,
    untried,
)
from support.judging.loader_evidence import (
    STORED,
    edited,
    left_out,
    overlong,
    rows,
    run,
    samples,
    sound_loader,
    take,
    with_ends,
)

NOTHING = LoaderEvidence("toy.py:factory")
EMPTY = sound_loader(sound=run(rows=take(rows(), np.zeros(0, int))))
UNPLACED = edited(sample=lambda sample: sample * 0 + STRANGE)
UNTRAINED = edited(trained=lambda trained: trained & False, targets=TARGETS, vocabulary=VOCABULARY)
UNFED = toy_contract(alignment={"token": [0], "target": [1], "loss_mask": [0, 1], "position": [0, 1]})


WHOLE = with_ends()
ENDS = (WHOLE.sample[:, 0] >= 0) & (WHOLE.sample[:, -1] == ZEROS)
SMALLER = dataclasses.replace(
    unshifted(WHOLE, samples()),
    sample=np.repeat(WHOLE.sample[:, :1], 4, axis=1),
    position=np.repeat(WHOLE.position[:, :1], 4, axis=1),
)
LAST_TRAINED = dataclasses.replace(unshifted(WHOLE, samples()), trained=WHOLE.trained | ENDS)
NO_FINAL = dataclasses.replace(unshifted(WHOLE, samples(), final=False), trained=LAST_TRAINED.trained)
LAST_ALONE = sound_loader(sound=run(rows=take(LAST_TRAINED, ENDS)))
OVERLONG = overlong()
assert OVERLONG.rows is not None

WIRING: tuple[Case, ...] = (
    case("runs", "was not run, for no known reason", "must errored", NOTHING),
    case("runs", "gives no rows", "must failed", EMPTY),
    case("runs", "gives nothing at all", "must failed", sound_loader(sound=run(rows=None))),
    case(
        "runs",
        "raises in its factory, of no known format",
        "must failed",
        dataclasses.replace(BROKEN, format="", stored=()),
    ),
    case("runs", "in two batches", "must passed", in_batches(2)),
    case("fc-input", "gives no rows", "must errored", EMPTY),
    case("fc-input", "two of them", "must failed", fed(0, 1, 3)),
    case("fc-input", "two are not stored", "must errored", sound_loader(stored=("low", "final"))),
    case("fc-input", "a block of zeros", "must failed", edited(plane=lambda p: np.where(p == 0, ZEROS, p))),
    case("fc-input", "a plane too many", "must failed", edited(plane=lambda p: np.where(p == 1, 4, p))),
    case(
        "fc-input",
        "four wirings",
        "must failed",
        edited(plane=lambda p: np.where(rows().sample >= 0, (p + np.maximum(rows().sample, 0)) % 4, p)),
    ),
    case("fc-input", "one row is not finite", "must passed", at_row(5, plane=[0, NOT_FINITE, 2, 3])),
    case(
        "row-identity", "a block of zeros", "must passed", at_row(0, sample=[0, ZEROS, 0, 0], position=[0, ZEROS, 0, 1])
    ),
    case("row-identity", "raises", "must errored", RAISES),
    case("last-hidden", "is not stored", "must errored", fed(0, 1, 2, 2, stored=STORED[:3])),
    case(
        "last-hidden",
        "of every plane",
        "must failed",
        edited(plane=lambda p: np.column_stack([p[:, :3], np.where(p[:, 3] >= 0, np.arange(len(p)) % 4, ZEROS)])),
    ),
    case("last-hidden", "zeros alone", "must failed", edited(plane=lambda p: np.where(p == 3, ZEROS, p))),
    case(
        "last-hidden",
        "an auxiliary plane, as declared",
        "must passed",
        fed(0, 1, 2),
        toy_contract(drafter={"input": ["low", "mid"], "last_hidden": "high"}),
    ),
)

ALIGNMENT: tuple[Case, ...] = (
    case("token-shift", "raises", "must errored", RAISES),
    case("token-shift", "four ahead", "must failed", edited(tokens=shifted(4))),
    case("token-shift", "five ahead", "must failed", edited(tokens=shifted(5))),
    case("token-shift", "four behind", "must failed", edited(tokens=lambda tokens: np.maximum(tokens - 5, 0))),
    case("token-shift", "of one token each", "must passed", repeating()),
    case("token-shift", "the smaller of several", "must passed", sound_loader(sound=run(rows=SMALLER)), WIDE),
    case("token-shift", "planes of three tokens", "must errored", torn()),
    case("token-shift", "half of the planes of another token", "must errored", torn(fours=True)),
    case("target-shift", "raises", "must errored", RAISES),
    case("target-shift", "the smaller of several", "must passed", sound_loader(sound=run(rows=SMALLER)), WIDE),
    case(
        "target-shift",
        "of another sample",
        "must failed",
        edited(sample=lambda s: np.column_stack([s[:, :3], np.where(s[:, 3] >= 0, (s[:, 3] + 1) % 4, s[:, 3])])),
    ),
    case("mask-shift", "raises", "must errored", RAISES),
    case("mask-shift", "four ahead", "must failed", edited(trained=mask_at(4))),
    case("mask-shift", "five ahead", "must failed", edited(trained=mask_at(5))),
    case("mask-shift", "several shifts fit", "must passed", all_counted()),
    case("mask-shift", "targets without a vocabulary", "must passed", edited(targets=TARGETS)),
    case("position-shift", "nothing placed", "must errored", UNPLACED),
)

PACKS: tuple[Case, ...] = (
    case("packing", "one for each sequence", "must passed", edited(documents_given=False)),
    case("packing", "two joined", "must failed", edited(documents=lambda d: np.where(d == 3, 2, d))),
    case("packing", "one twice as a whole", "must passed", sound_loader(sound=run(rows=again(0, 4)))),
    case("packing", "nothing placed", "must errored", UNPLACED),
    case("padding", "trained outside any document", "must failed", edited(documents=lambda d: np.where(d == 2, -1, d))),
    case("padding", "zeros inside a document", "must failed", at_row(2, sample=[ZEROS] * 4, trained=True)),
    case(
        "padding",
        "the last row, which needs no final state",
        "must passed",
        sound_loader(sound=run(rows=NO_FINAL)),
        UNFED,
    ),
    case(
        "padding",
        "the last row, which has no final state",
        "must failed",
        sound_loader(sound=run(rows=LAST_TRAINED)),
        UNFED,
    ),
    case("padding", "nothing is trained", "must errored", UNTRAINED),
    case("padding", "nothing placed", "must errored", UNPLACED),
    case("padding", "raises", "must errored", RAISES),
    case("truncation", "nothing is trained", "must errored", UNTRAINED),
    case("truncation", "not tried", "must errored", untried("overlong")),
    case(
        "truncation",
        "a batch that no model takes",
        "must passed",
        bad("overlong", overlong(misfit=Problem("unsupported", "tokens is [25] beside 18 rows", ""))),
    ),
    case("truncation", "no batch", "must passed", bad("overlong", overlong(rows=None))),
    case(
        "truncation",
        "cut as one, beside the state's own token",
        "must passed",
        sound_loader(
            sound=run(rows=unshifted(rows(), samples())),
            runs={"overlong": overlong(rows=unshifted(OVERLONG.rows, OVERLONG.samples))},
        ),
        UNFED,
    ),
    case(
        "truncation",
        "cut as one, beside a sound dataset with one row out of step",
        "must passed",
        at_row(0, tokens=3),
    ),
    case("truncation", "nothing placed", "must errored", UNPLACED),
    case(
        "coverage",
        "two lost and one twice",
        "should failed",
        sound_loader(sound=run(rows=take(again(0, 4), again(0, 4).sample[:, 0] < 2))),
    ),
    case("coverage", "nothing placed", "should errored", UNPLACED),
    case("coverage", "raises", "should errored", RAISES),
)

NUMBERS: tuple[Case, ...] = (
    case(
        "dtype",
        "of no known kind",
        "must passed",
        sound_loader(stored_dtype="int8", sound=run(rows=rows(fc_dtype="int8"))),
    ),
    case("dtype", "without last hidden", "must passed", edited(last_dtype=None)),
    case("values", "the last hidden state", "must failed", edited(amplitude=np.array([1.1, 1.0, 1.0, 0.4]))),
    case("values", "raises", "must errored", RAISES),
    case("read-only", "raises, and leaves the disk alone", "must passed", RAISES),
    case("draft-vocabulary", "targets without a vocabulary", "must skipped", edited(targets=TARGETS)),
    case("draft-vocabulary", "nothing is trained", "must errored", UNTRAINED),
)

REPORTED = ("log: NaN in data_1.pt",)
BAD_SAMPLES: tuple[Case, ...] = (
    case(
        "nonfinite",
        "attended in the first document",
        "must failed",
        bad("nonfinite", infected(trained=False, documents=np.maximum(rows().sample[:, 0] - 1, -1))),
    ),
    case("nonfinite", "not tried", "must errored", untried("nonfinite")),
    case("row-count", "taken with a word, in step", "must passed", bad("row-surplus", run(reports=REPORTED))),
    case("row-count", "planes of three tokens", "must failed", bad("row-surplus", mixed())),
    case("neighbours", "planes of three tokens", "must passed", bad("row-surplus", mixed())),
    case("neighbours", "of unknown tokens", "must failed", bad("row-surplus", mixed(STRAY))),
    case("neighbours", "of tokens that several samples have", "must failed", bad("row-surplus", shared())),
    case("neighbours", "nothing is trained", "must errored", UNTRAINED),
    case(
        "neighbours",
        "nothing is trained, and both are refused",
        "must passed",
        dataclasses.replace(
            UNTRAINED,
            runs=UNTRAINED.runs
            | {name: run(rows=None, refusal="ValueError: 8 rows") for name in ("row-missing", "row-surplus")},
        ),
    ),
    case("unreadable", "replaced without a word", "must failed", bad("corrupt", replaced(reports=()))),
    case(
        "unreadable",
        "one replaced, one passed over in silence",
        "must failed, should failed",
        sound_loader(runs={"corrupt": replaced(), "missing": left_out(reports=())}),
    ),
)

CASES: tuple[Case, ...] = (*WIRING, *ALIGNMENT, *PACKS, *NUMBERS, *BAD_SAMPLES)
