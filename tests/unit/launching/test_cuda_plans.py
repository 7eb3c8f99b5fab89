"""What is started on a GPU, by its command line: flags that SGLang 0.5.23 defines, and none of those for a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.launchers import find_flag, names_in
from eagle3_contracts.subjects.servers.launching import STAND_IN, LaunchPlan, plans
from support import sgl_kernel_stand_in
from support.gpu.servers import EAGER, REPLAYED, TRITON, VARIANTS, eager_twin, plan_variant

RELEASE = "0.5.23"
FOR_A_CPU = {
    "eagle3": {"--prefill-attention-backend", "--decode-attention-backend"},
    "capture": {"--attention-backend", "--disable-overlap-schedule"},
    "plain": {"--attention-backend", "--disable-overlap-schedule"},
}
"""Flags of a CPU's server alone, by role, beside those that every one of them has."""

FOR_EVERY_CPU = {"--disable-cuda-graph", "--mem-fraction-static", "--sleep-on-idle"}


@pytest.fixture
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture(autouse=True)
def release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say that this release is installed, and offer the stand-in, which no plan for a GPU may take."""
    monkeypatch.setattr(plans, "version", lambda _: RELEASE)
    monkeypatch.setenv(STAND_IN, str(next(iter(sgl_kernel_stand_in.__path__))))


def plan(contract: Contract, name: str, device: str = "cuda") -> LaunchPlan:
    return plan_variant(contract, Path("target"), Path("draft"), VARIANTS[name], device)


def flags(plan: LaunchPlan) -> set[str]:
    return {word for word in plan.command if word.startswith("--")}


def value(plan: LaunchPlan, flag: str) -> str:
    return plan.command[plan.command.index(flag) + 1]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_flag_is_defined_and_in_force(contract: Contract, name: str) -> None:
    used = flags(plan(contract, name))
    assert used <= names_in("sglang", RELEASE)
    states = {flag: {run.state for run in find_flag("sglang", flag) if run.last == RELEASE} for flag in used}
    assert not {flag: state for flag, state in states.items() if state != {""}}, "retired or gone"


@pytest.mark.parametrize("name", VARIANTS)
def test_no_flag_and_no_variable_is_a_cpus(contract: Contract, name: str) -> None:
    role, own = VARIANTS[name].role, {word for word in VARIANTS[name].flags if word.startswith("--")}
    cuda, cpu = plan(contract, name), plan(contract, name, "cpu")
    assert flags(cpu) - flags(cuda) == (FOR_A_CPU[role] | FOR_EVERY_CPU) - own
    assert flags(cuda) <= flags(cpu)
    assert not {"intel_amx", "torch_native", "float32", "cpu"} & set(cuda.command)
    assert dict(cuda.environment) == {"HF_HUB_OFFLINE": "1", "SGLANG_PLUGINS": "none"}
    assert cuda.stand_ins == ()
    assert cuda.memory_limit is None


@pytest.mark.parametrize("name", VARIANTS)
def test_a_gpu_serves_the_contracts_dtype_with_a_cache_that_leaves_room(contract: Contract, name: str) -> None:
    cuda = plan(contract, name)
    assert (value(cuda, "--device"), value(cuda, "--dtype")) == ("cuda", "bfloat16")
    assert int(value(cuda, "--max-total-tokens")) >= plans.BATCH * 256
    assert {"--disable-radix-cache", "--enable-return-hidden-states"} <= flags(cuda)
    assert value(cuda, "--chunked-prefill-size") == "-1"


def test_all_that_is_asked_for_is_started(contract: Contract) -> None:
    """Roles, both attention backends for the drafting server, graphs on and off for all that returns planes."""
    assert {variant.role for variant in VARIANTS.values()} == {"eagle3", "capture", "plain"}
    drafting = {name: plan(contract, name) for name, variant in VARIANTS.items() if variant.role == "eagle3"}
    chosen = {(set(TRITON) <= set(item.command), set(EAGER) <= set(item.command)) for item in drafting.values()}
    assert chosen == {(False, False), (False, True), (True, False), (True, True)}
    assert {VARIANTS[name].role for name in REPLAYED} == {"eagle3", "capture"}


@pytest.mark.parametrize("name", REPLAYED)
def test_a_twin_differs_in_its_graphs_alone(contract: Contract, name: str) -> None:
    with_graphs, without = plan(contract, name), plan(contract, eager_twin(name))
    assert without.command == (*with_graphs.command, *EAGER)
    assert VARIANTS[name].graphs
    assert not VARIANTS[eager_twin(name)].graphs
