"""SGLang's ``/server_info``: its own arguments after it has rewritten them, read field by field.

Read in SGLang 0.5.20 to 0.5.23 (entrypoints/http_server.py, server_info): one table of all arguments, beside it
``version`` and ``internal_states``, one table for each data-parallel rank.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServedModel, ServerArguments, ServerRole
from eagle3_contracts.subjects.servers.failing import ServerProblemError, quote
from eagle3_contracts.subjects.servers.json_answers import is_whole
from eagle3_contracts.subjects.servers.models import look_at_model

WHERE = "GET /server_info"
_SECRET = ("api_key", "password", "secret", "watermark_key", "token_file", "certfile", "keyfile")
_WHOLE = 1 << 53
_DRAFT_TOKENS = "--speculative-num-draft-tokens"
_RESERVED = 6
"""SGLang's max_req_input_len is this much below what one request may have (managers/tp_worker.py)."""


class _Fields:
    """Typed reading of a table; what has another type is None and stands in ``problems``."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table, self.problems = table, list[Problem]()

    def text(self, name: str) -> str | None:
        value = self.table.get(name)
        if value is None or isinstance(value, str):
            return value
        self._refuse(name, "text")
        return None

    def whole(self, name: str) -> int | None:
        value = self.table.get(name)
        if value is None or (is_whole(value) and abs(value) < _WHOLE):
            return value
        self._refuse(name, "a whole number")
        return None

    def flag(self, name: str) -> bool | None:
        value = self.table.get(name)
        if value is None or isinstance(value, bool):
            return value
        self._refuse(name, "true or false")
        return None

    def ids(self, name: str) -> tuple[int, ...] | None:
        value = self.table.get(name)
        if value is None or (isinstance(value, list) and all(map(is_whole, value))):
            return None if value is None else tuple(value)
        self._refuse(name, "a list of layer ids")
        return None

    def _refuse(self, name: str, wanted: str) -> None:
        reason = f"the server's argument {name} is {quote(repr(self.table[name]))}, not {wanted}"
        self.problems.append(ServerProblemError("malformed", reason, where=WHERE).problem)


def read_arguments(info: object) -> tuple[ServerArguments, tuple[Problem, ...]]:
    """Read the answer of ``/server_info``; raise ``ServerProblemError`` if it is none of SGLang's."""
    if not isinstance(info, dict) or "model_path" not in info:
        reason = "the answer is no table with the server's arguments (model_path is not in it)"
        raise ServerProblemError("malformed", reason, where=WHERE)
    fields = _Fields(info)
    algorithm, path, draft = (
        fields.text(name) for name in ("speculative_algorithm", "model_path", "speculative_draft_model_path")
    )
    target = look_at_model(path) if path else None
    disabled = fields.flag("disable_radix_cache")
    arguments = ServerArguments(
        raw=dict(_without_secrets(info)),
        version=fields.text("version"),
        target=target,
        draft=look_at_model(draft) if draft else None,
        algorithm=algorithm,
        steps=fields.whole("speculative_num_steps"),
        topk=fields.whole("speculative_eagle_topk"),
        draft_tokens=fields.whole("speculative_num_draft_tokens"),
        asked_draft_tokens=_asked_draft_tokens(fields.text("launch_command")),
        context_length=_context_length(fields, target),
        capture_ids=fields.ids("return_aux_hidden_state_layer_ids"),
        chunked_prefill=fields.whole("chunked_prefill_size"),
        radix_cache=None if disabled is None else not disabled,
        returns_hidden_states=_returns_hidden_states(fields),
        dtype=_dtype(fields.text("dtype"), target),
        draft_dtype=_dtype(fields.text("dtype"), target) if draft else None,
        quantization=fields.text("quantization"),
        draft_quantization=fields.text("speculative_draft_model_quantization"),
        attention_backend=fields.text("prefill_attention_backend") or fields.text("attention_backend"),
        device=fields.text("device"),
    )
    return arguments, tuple(fields.problems)


def tell_role(arguments: ServerArguments) -> ServerRole:
    """Tell what kind of server it is: one that drafts, one that captures, or neither.

    One with an algorithm and no draft model drafts too, with what it has: it must not pass for one that drafts nothing.
    """
    captures = arguments.raw.get("enable_return_aux_hidden_states") is True or arguments.capture_ids is not None
    if arguments.algorithm is not None and (arguments.draft is not None or not captures):
        return "eagle3"
    return "capture" if captures else "plain"


def _returns_hidden_states(fields: _Fields) -> bool | None:
    """Tell whether either flag allows hidden states: the older one, or 0.5.23's for auxiliary states."""
    told = [fields.flag(name) for name in ("enable_return_hidden_states", "enable_return_aux_hidden_states")]
    return any(told) if any(value is not None for value in told) else None


def _asked_draft_tokens(command: str | None) -> int | None:
    """Give what the command asked for, before the server rewrote it; the last one counts."""
    try:
        words = shlex.split(command or "")
    except ValueError:
        return None
    for at in range(len(words) - 1, -1, -1):
        flag, equals, value = words[at].partition("=")
        if flag == _DRAFT_TOKENS:
            said = value if equals else " ".join(words[at + 1 : at + 2])
            return int(said) if said.isascii() and said.isdecimal() else None
    return None


def _context_length(fields: _Fields, target: ServedModel | None) -> int | None:
    """Give the argument; if it was left to the engine, the model's positions, else what one request may have."""
    said = fields.whole("context_length")
    if said is not None:
        return said
    config = dict(target.config or {}) if target is not None else {}
    nested = config.get("text_config")
    for table in (config, nested if isinstance(nested, Mapping) else {}):
        positions = table.get("max_position_embeddings")
        if is_whole(positions) and not table.get("rope_scaling"):
            return positions
    allowed = fields.whole("max_req_input_len")
    return None if allowed is None else allowed + _RESERVED


def _dtype(said: str | None, target: ServedModel | None) -> str | None:
    """Give the dtype as a torch name; ``auto`` is the one of the model's config.json, float32 becoming float16."""
    if said != "auto":
        return {"half": "float16", "float": "float32"}.get(said, said) if said else None
    config = dict(target.config or {}) if target is not None else {}
    stored = config.get("torch_dtype") or config.get("dtype")
    return {"float32": "float16"}.get(stored, stored) if isinstance(stored, str) else None


def _without_secrets(info: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Leave out what may be a secret: keys and passwords, and the command line, which repeats them."""
    for name, value in info.items():
        if name == "launch_command" or any(part in name for part in _SECRET):
            continue
        if name == "internal_states" and isinstance(value, list):
            yield name, [dict(_without_secrets(state)) for state in value if isinstance(state, dict)]
            continue
        yield name, value
