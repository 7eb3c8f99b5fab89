"""The plugin that SGLang loads at start, in every process of a server (entry-point group ``sglang.srt.plugins``).

Read in SGLang 0.5.20 to 0.5.23: ``load_plugins`` (sglang/srt/plugins) runs ``register`` before the arguments are
parsed and again in each scheduler; it logs and swallows what a plugin raises, so that a refusal must come out of a
hook. The hooks are called while a server starts, and none of them lies on the path of a request.

Where it looks, in order:

1. ``validation_hook.check_server_args``, in the main process, before any other process is started: what the arguments
   and the draft's files come to.
2. ``DefaultModelLoader.load_weights_and_postprocess``, in each scheduler, the first time: which stored tensors of the
   draft are read, and which parameters nothing is written to.
3. ``configure_aux_hidden_state_capture``: which layers the target really marks, and the draft's fc.
"""

from __future__ import annotations

import logging
import os
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from eagle3_contracts.guards.refusal import GuardError, settle_failure
from eagle3_contracts.guards.settings import GuardSettings, read_guard_settings

ENTRY_POINT = "eagle3_contracts"
SCHEDULER = "sglang.srt.managers.scheduler"
ARGUMENTS = "sglang.srt.arg_groups.validation_hook.check_server_args"
WEIGHTS = "sglang.srt.model_loader.loader.DefaultModelLoader.load_weights_and_postprocess"
CAPTURE = "sglang.srt.model_executor.model_runner_components.attention_backend_setup.configure_aux_hidden_state_capture"

logger = logging.getLogger("eagle3_contracts.guards")


def register() -> None:
    """Hang the guard into this process; nothing at all is done where no guard is asked for.

    A scheduler has loaded its own module by now, and only a process that has gets the hooks on models: the others
    would import all of SGLang for them. Where a place to hang it into is gone, the start ends here unless the
    settings let an unguarded server go on: SGLang itself would only log it.
    """
    settings, wrong = read_guard_settings(os.environ)
    if settings is None:
        return
    hooks: dict[str, tuple[str, Callable[..., Any]]] = {ARGUMENTS: ("AFTER", _after_arguments(settings, wrong))}
    if SCHEDULER in sys.modules and not wrong:
        hooks[WEIGHTS] = ("AROUND", _around_weights(settings))
        hooks[CAPTURE] = ("AFTER", _after_capture(settings))
    try:
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType

        for target in hooks:
            pkgutil.resolve_name(target)
        for target, (kind, hook) in hooks.items():
            HookRegistry.register(target, hook, HookType[kind])
    except Exception as error:  # noqa: BLE001 - whatever is wrong here, nothing is guarded
        try:
            settle_failure(error, settings, "this version of SGLang, into which it cannot be hung", say)
        except GuardError as refusal:
            raise SystemExit(str(refusal)) from error


def say(message: str) -> None:
    """Log a warning, or print it where the server's log level would swallow it."""
    if logger.isEnabledFor(logging.WARNING):
        logger.warning("%s", message)
    else:
        sys.stderr.write(f"{message}\n")


def _after_arguments(settings: GuardSettings, wrong: str) -> Callable[..., None]:
    def hook(_: object, server_args: Any) -> None:
        if wrong:
            settle_failure(ValueError(wrong), settings, "this server", say)
            return
        from eagle3_contracts.guards.server import guard_arguments

        _keep(settings, "this server's arguments", lambda: guard_arguments(settings, server_args, say))

    return hook


def _after_capture(settings: GuardSettings) -> Callable[..., None]:
    def hook(_: object, *, model: Any, **configured: Any) -> None:
        from eagle3_contracts.guards.server import guard_capture

        _keep(settings, "this server's captures", lambda: guard_capture(settings, model, configured, say))

    return hook


def _around_weights(settings: GuardSettings) -> Callable[..., Any]:
    """Watch the first load of a draft.

    A running server loads again, in whole or in part, to update its weights. A refusal there would end it, since its
    way back loads the same files once more (weight_updater.py).
    """
    place = "this server's draft model"

    def hook(load: Callable[..., Any], model: Any, weights: Any, target_device: Any) -> Any:
        from eagle3_contracts.guards.weights import is_draft, was_watched, watch_loading

        opened: list[Any] = []
        if is_draft(model) and not was_watched(model):
            _keep(settings, place, lambda: opened.extend(watch_loading(model)))
        if not opened:
            return load(model, weights, target_device)
        watch, watching = opened
        with watching:
            result = load(model, watch.follow(weights), target_device)
        _keep(settings, place, lambda: _judge_weights(settings, model, watch))
        return result

    return hook


def _judge_weights(settings: GuardSettings, model: Any, watch: Any) -> None:
    from eagle3_contracts.guards.server import guard_weights

    watch.settle(model)
    guard_weights(settings, model, watch, say)


def _keep(settings: GuardSettings, place: str, look: Callable[[], None]) -> None:
    """Look, and let nothing but a refusal out: the guard's own failure is "could not check"."""
    try:
        look()
    except GuardError:
        raise
    except Exception as error:  # noqa: BLE001 - a guard must not break a server that it was to warn of only
        settle_failure(error, settings, place, say)
