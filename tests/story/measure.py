"""Measure what the story's diagnosis comes to, on both targets and three seeds; prints JSON lines.

PYTHONPATH=contracts:tests python tests/story/measure.py

The recorded drafter comes first, then drafters of 160 updates made here.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from torch import Tensor

from eagle3_contracts.contract import load_contract
from eagle3_contracts.diagnosis import diagnose
from eagle3_contracts.embedded import CONTRACT, NAME, VERSION, embedded_target
from eagle3_contracts.recording.language import Language
from eagle3_contracts.recording.sequences import LANGUAGE_SEED
from eagle3_contracts.subjects.checkpoints.weights import read_drafter
from eagle3_contracts.subjects.goldens import open_golden
from eagle3_contracts.subjects.targets import open_target
from support.scaling import scale_down
from support.targets import kimi_toy, toy_tokens
from support.toy_drafters import School, with_input

SEEDS = (0, 1, 2)


def kimi_school(folder: Path) -> School:
    contract = scale_down(load_contract("kimi-k2.5-eagle3@2.0.0"))
    target = open_target(str(kimi_toy(folder)), contract)
    return School(contract, target, [target.reference(toy_tokens(32, seed=seed)) for seed in range(40)])


def embedded_school() -> School:
    contract = load_contract(CONTRACT)
    target = open_target(str(embedded_target()), contract)
    language, draw = Language(LANGUAGE_SEED), random.Random(808)  # noqa: S311 (a language, no secret)
    return School(contract, target, [target.reference(language.sequence(40, draw)[0]) for _ in range(48)])


def measure(school: School, weights: dict[str, Tensor], fed: tuple[int, ...]) -> dict[str, object]:
    """Diagnose a drafter fed with these boundaries; give what is said and what it took."""
    started, clock = time.process_time(), time.monotonic()
    found = diagnose(with_input(school.contract, fed), weights, school.samples, school.target)
    shares = [item.against_target if item else None for item in (found.measured, found.measured_as_found)]
    return {
        "fed": fed,
        "verdict": str(found.verdict),
        "found": found.found,
        "accuracy_as_fed": shares[0],
        "accuracy_as_found": shares[1],
        "diagnosis_cpu_s": round(time.process_time() - started, 1),
        "diagnosis_wall_s": round(time.monotonic() - clock, 1),
        "differences": [item.name for item in found.differences],
    }


def write(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        schools = {"kimi-like toy": kimi_school(Path(folder) / "target"), "embedded": embedded_school()}
        pairs = {"kimi-like toy": ((0, 3, 31), (3, 31, 59)), "embedded": ((0, 2, 4), (2, 4, 5))}
        golden = open_golden(NAME, VERSION)
        weights = read_drafter(golden.folder / "drafter", schools["embedded"].contract, golden.target)
        for fed in pairs["embedded"]:
            write({"target": "embedded", "drafter": "golden", **measure(schools["embedded"], weights, fed)})
        for name, school in schools.items():
            for trained, fed in (pairs[name], pairs[name][::-1]):
                for seed in SEEDS:
                    made = school.train(trained, seed=seed)
                    write({"target": name, "trained": trained, "seed": seed, **measure(school, made, fed)})


if __name__ == "__main__":
    main()
