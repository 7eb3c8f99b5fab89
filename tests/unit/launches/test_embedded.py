"""The embedded launch command is for the embedded drafter, and is what the wheel brings along."""

from __future__ import annotations

from eagle3_contracts.embedded import NAME, VERSION, embedded_launch, golden_root
from eagle3_contracts.subjects.launches.reading import read_launch


def test_its_draft_config_is_the_recorded_drafters() -> None:
    recorded = golden_root() / NAME / VERSION / "drafter" / "config.json"
    beside = embedded_launch().parent / "drafter" / "config.json"
    assert beside.read_text(encoding="utf-8") == recorded.read_text(encoding="utf-8")


def test_the_drafter_is_found_beside_the_command() -> None:
    evidence = read_launch("serve.sh", str(embedded_launch()))
    assert not evidence.problems
    assert evidence.draft is not None
    assert evidence.draft.config is not None
    assert evidence.line == 3
