"""SGLang on CUDA in bfloat16, with CUDA graphs and without, triton and its own choice: held to every clause."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import leaves_open
from eagle3_contracts.registry import Clause, clauses_of
from eagle3_contracts.reports.terminal import describe_finding
from eagle3_contracts.run import judge_clause
from eagle3_contracts.testing.outcomes import conclude
from support.gpu.record import Record
from support.gpu.servers import TRITON, VARIANTS, Examined, graphs_of

pytestmark = [pytest.mark.live, pytest.mark.gpu]


@pytest.mark.parametrize("name", VARIANTS)
def test_a_server_is_what_was_asked_for(examined: Mapping[str, Examined], contract: Contract, name: str) -> None:
    evidence, variant = examined[name].evidence, VARIANTS[name]
    assert not evidence.problems
    assert evidence.arguments is not None
    assert evidence.role == variant.role
    assert evidence.stand_ins == ()
    assert (evidence.arguments.device, evidence.arguments.dtype) == ("cuda", contract.target.dtype)
    graphs = graphs_of(evidence)
    assert graphs.keys() == {"decode", "prefill"}
    assert (graphs["decode"] != "disabled") is variant.graphs
    assert variant.graphs or graphs["prefill"] == "disabled"
    replayed, eager = examined[name].steps
    assert replayed + eager, "no step was logged, so nobody knows whether graphs were replayed"
    assert (replayed > 0) is variant.graphs
    if set(TRITON) <= set(variant.flags):
        assert evidence.arguments.attention_backend == "triton"


@pytest.mark.parametrize("clause", clauses_of("server"), ids=lambda clause: clause.id)
@pytest.mark.parametrize("name", VARIANTS)
def test_clause(
    examined: Mapping[str, Examined], record: Record, contract: Contract, name: str, clause: Clause
) -> None:
    found = tuple(judge_clause(clause, contract, examined[name].evidence))
    record.findings[name, clause.id] = found
    conclusion = conclude(found)
    if conclusion.outcome == "failed":
        pytest.fail(conclusion.message, pytrace=False)
    if gaps := [item for item in found if leaves_open(item)]:
        pytest.fail("\n\n".join(map(describe_finding, gaps)), pytrace=False)
    if conclusion.outcome == "skipped":
        pytest.skip(conclusion.message)
