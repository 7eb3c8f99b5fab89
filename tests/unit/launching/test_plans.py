"""What a plan says of the server it starts, and where it refuses; SGLang's release is named, not installed here."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.servers.launching import STAND_IN, LaunchPlan, NotStartedError, plan_launch, plans, start
from support import sgl_kernel_stand_in

TARGET, DRAFT = Path("target"), Path("draft")
FOLDER = Path(next(iter(sgl_kernel_stand_in.__path__)))


@pytest.fixture
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture(autouse=True)
def release(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Say that a release of SGLang is installed, and where the stand-in lies."""
    monkeypatch.setenv(STAND_IN, str(FOLDER))
    monkeypatch.delenv("PYTHONPATH", raising=False)

    def install(number: str) -> None:
        monkeypatch.setattr(plans, "version", lambda _: number)

    install("0.5.23")
    return install


def value(plan: LaunchPlan, flag: str) -> str:
    return plan.command[plan.command.index(flag) + 1]


def test_a_drafting_server_asks_for_what_the_contract_asks(contract: Contract) -> None:
    plan = plan_launch(contract, TARGET, DRAFT, "eagle3", device="cpu")
    assert value(plan, "--speculative-draft-model-path") == "draft"
    tokens = int(value(plan, "--speculative-num-draft-tokens"))
    assert tokens == plan.draft_tokens == int(value(plan, "--speculative-num-steps")) + 1
    assert contract.serving is None or tokens >= contract.serving.min_draft_tokens
    assert int(value(plan, "--context-length")) <= contract.drafter.max_position
    assert value(plan, "--dtype") == "float32"


def test_a_capturing_server_has_the_ids_that_mean_the_contracts_planes(contract: Contract) -> None:
    plan = plan_launch(contract, TARGET, None, "capture", device="cpu")
    at = plan.command.index("--return-aux-hidden-state-layer-ids")
    boundaries = [contract.plane(name).boundary for name in contract.drafter.input]
    assert [int(word) + 1 for word in plan.command[at + 1 : at + 4]] == boundaries
    assert "--speculative-draft-model-path" not in plan.command


@pytest.mark.parametrize("role", ["eagle3", "capture", "plain"])
def test_no_server_may_lose_rows(contract: Contract, role: str) -> None:
    plan = plan_launch(contract, TARGET, DRAFT, role, device="cpu")  # type: ignore[arg-type]
    assert "--disable-radix-cache" in plan.command
    assert value(plan, "--chunked-prefill-size") == "-1"
    assert "--enable-return-hidden-states" in plan.command


def test_the_stand_in_is_told(contract: Contract) -> None:
    plan = plan_launch(contract, TARGET, None, "plain", device="cpu")
    assert plan.environment["PYTHONPATH"] == str(FOLDER)
    assert plan.stand_ins == (f"sgl_kernel: {FOLDER}",)


def test_a_gpu_needs_no_stand_in_and_computes_in_the_contracts_dtype(contract: Contract) -> None:
    plan = plan_launch(contract, TARGET, DRAFT, "eagle3", device="cuda", flags=("--attention-backend", "triton"))
    assert plan.stand_ins == ()
    assert not {"PYTHONPATH", "OMP_NUM_THREADS", "SGLANG_USE_CPU_ENGINE"} & set(plan.environment)
    assert value(plan, "--dtype") == contract.target.dtype
    assert plan.command[-2:] == ("--attention-backend", "triton")
    assert plan.memory_limit is None


def test_what_a_guard_needs_wins_over_the_plans_own_environment(contract: Contract) -> None:
    plan = plan_launch(contract, TARGET, None, "plain", device="cpu", environment={"SGLANG_PLUGINS": "mine"})
    assert plan.environment["SGLANG_PLUGINS"] == "mine"
    assert plan.key != plan_launch(contract, TARGET, None, "plain", device="cpu").key


def test_without_sglang_there_is_nothing_to_launch(contract: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(plans, "version", missing)
    with pytest.raises(SubjectError, match=r"SGLang is not installed here\n  remedy: install it for .*give its URL"):
        plan_launch(contract, TARGET, DRAFT, "eagle3", device="cpu")


def test_without_sgl_kernel_and_stand_in_the_remedy_is_told(
    contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(STAND_IN)
    with pytest.raises(SubjectError, match="imports sgl_kernel, which is not installed") as caught:
        plan_launch(contract, TARGET, DRAFT, "eagle3", device="cpu")
    assert f"{STAND_IN}=FOLDER" in caught.value.remedy
    plan_launch(contract, TARGET, DRAFT, "eagle3", device="cuda")


def test_a_folder_without_the_package_is_no_stand_in(
    contract: Contract, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(STAND_IN, str(tmp_path))
    with pytest.raises(SubjectError, match="holds no package sgl_kernel"):
        plan_launch(contract, TARGET, DRAFT, "eagle3", device="cpu")


def test_a_drafting_server_needs_a_drafter(contract: Contract) -> None:
    with pytest.raises(SubjectError, match="no drafter is named"):
        plan_launch(contract, TARGET, None, "eagle3", device="cpu")


@pytest.mark.parametrize("number", ["0.5.20", "0.5.22"])
def test_older_releases_capture_with_a_drafter_alone(
    contract: Contract, release: Callable[[str], None], number: str
) -> None:
    release(number)
    with pytest.raises(SubjectError, match="has no capture without a drafter"):
        plan_launch(contract, TARGET, None, "capture", device="cpu")
    plan_launch(contract, TARGET, DRAFT, "eagle3", device="cpu")


def test_an_embedding_plane_cannot_be_named_by_the_capture_flag(contract: Contract) -> None:
    planes = tuple(
        plane.model_copy(update={"boundary": 0 if plane.name == "low" else plane.boundary}) for plane in contract.planes
    )
    with pytest.raises(SubjectError, match="refuses negative ids") as caught:
        plan_launch(contract.model_copy(update={"planes": planes}), TARGET, None, "capture", device="cpu")
    assert "launch:eagle3" in caught.value.remedy


def test_planes_that_no_ids_mean_are_refused(contract: Contract) -> None:
    drafter = contract.drafter.model_copy(update={"input": ("mid", "low", "high")})
    with pytest.raises(SubjectError, match="no ids mean tiny-llama-eagle3"):
        plan_launch(contract.model_copy(update={"drafter": drafter}), TARGET, None, "capture", device="cpu")


def test_every_word_of_a_message_is_there(contract: Contract) -> None:
    """The command is told as it would be typed; what the environment holds beside it is not."""
    plan = plan_launch(contract, Path("a target"), None, "plain", device="cpu", environment={"HF_TOKEN": "secret"})
    assert "--model-path 'a target'" in str(plan)
    with pytest.raises(NotStartedError) as caught:
        start(LaunchPlan("plain", "cpu", ("/bin/false", "--port", "{port}"), environment=plan.environment))
    assert "secret" not in str(caught.value)
