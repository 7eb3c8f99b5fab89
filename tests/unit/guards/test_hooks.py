"""The plugin's hooks as SGLang calls them: a guard that only warns breaks nothing, one that refuses lets nothing by."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.guards import GuardError, sglang_plugin
from eagle3_contracts.guards.settings import GuardSettings

REFUSE, WARN = GuardSettings(CONTRACT), GuardSettings(CONTRACT, warns=True)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    told: list[str] = []
    monkeypatch.setattr(sglang_plugin, "say", told.append)
    return told


class OddEagle3(nn.Module):
    """A draft that cannot be watched: its parameters lie nowhere."""

    def named_parameters(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("sparse")


def capture(settings: GuardSettings) -> None:
    sglang_plugin._after_capture(settings)(None, model=None, eagle_use_aux_hidden_state=True)


def arguments(settings: GuardSettings, wrong: str = "") -> None:
    sglang_plugin._after_arguments(settings, wrong)(None, SimpleNamespace())


def unknown(settings: GuardSettings) -> None:
    arguments(GuardSettings("no-such-contract", warns=settings.warns))


def misspelt(settings: GuardSettings) -> None:
    arguments(settings, "EAGLE3_CONTRACT_GUARD_MODE is 'warm': write refuse or warn")


def load(settings: GuardSettings) -> None:
    given = [("fc.weight", torch.ones(2))]
    seen = sglang_plugin._around_weights(settings)(
        lambda _model, weights, _device: list(weights), OddEagle3(), given, "cpu"
    )
    assert seen == given


@pytest.mark.parametrize(
    ("look", "reason"),
    [
        (capture, "AttributeError"),
        (unknown, "no contract named 'no-such-contract'"),
        (misspelt, "is 'warm': write refuse or warn"),
        (load, "NotImplementedError: sparse"),
    ],
)
def test_the_guards_own_failure(look: Callable[[GuardSettings], None], reason: str, said: list[str]) -> None:
    look(WARN)
    (told,) = said
    assert "COULD NOT CHECK" in told
    assert reason in told
    with pytest.raises(GuardError, match="COULD NOT CHECK") as caught:
        look(REFUSE)
    assert reason in str(caught.value)


def test_arguments_that_are_none_are_a_violation_and_not_a_pass(said: list[str]) -> None:
    arguments(WARN)
    assert any("FAILED launch.algorithm" in told for told in said)


def test_models_that_are_no_draft_are_loaded_as_they_are(said: list[str]) -> None:
    weights = iter([("lm_head.weight", torch.ones(2))])
    seen = sglang_plugin._around_weights(REFUSE)(lambda _model, given, _device: given, nn.Linear(1, 1), weights, "cpu")
    assert seen is weights
    assert not said


def test_weights_that_a_running_server_updates_are_let_pass(said: list[str]) -> None:
    """Half of the tensors: refused at the start of a server, where they are all that there is."""

    class HalfEagle3(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(192, 64, bias=False)
            self.norm = nn.LayerNorm(64, bias=False)

    def fill(model: nn.Module, weights: Any, _device: str) -> None:
        for name, tensor in weights:
            model.get_parameter(name).data.copy_(tensor)

    model, half = HalfEagle3(), [("fc.weight", torch.ones(64, 192))]
    hook = sglang_plugin._around_weights(REFUSE)
    with pytest.raises(GuardError, match=r"left as they were allocated: norm\.weight"):
        hook(fill, model, half, "cpu")
    hook(fill, model, half, "cpu")
    assert not said


def test_what_loading_itself_raises_comes_through(said: list[str]) -> None:
    class BrokenEagle3(nn.Module):
        pass

    def broken(*_: Any) -> None:
        raise OSError("no such file")

    with pytest.raises(OSError, match="no such file"):
        sglang_plugin._around_weights(REFUSE)(broken, BrokenEagle3(), [], "cpu")
    assert not said
