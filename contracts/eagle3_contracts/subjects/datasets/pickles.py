"""What a pickle would do, read from its opcodes without doing any of it.

``torch.load(weights_only=True)`` refuses what is not on its list; this names what a file asks for, in one
sentence and for every torch version (before 2.6 a tar archive went round that list, CVE-2025-32434), and it
checks the sizes that the pickle claims before memory is set aside for them.
"""

from __future__ import annotations

import io
import pickletools
from dataclasses import dataclass, field

_DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "bool"),
    *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
)
ALLOWED = frozenset(
    {
        "collections.OrderedDict",
        "collections.Counter",
        "_codecs.encode",
        *(f"{module}.{name}" for module in ("builtins", "__builtin__") for name in ("set", "bytearray", "complex")),
        "torch.Size",
        "torch.Tensor",
        "torch.device",
        "torch._tensor._rebuild_from_type_v2",
        "torch._utils._rebuild_parameter",
        "torch._utils._rebuild_parameter_with_state",
        "torch._utils._rebuild_sparse_tensor",
        "torch._utils._rebuild_tensor",
        "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_tensor_v3",
        "torch.nn.parameter.Parameter",
        "torch.serialization._get_layout",
        "torch.storage.TypedStorage",
        "torch.storage.UntypedStorage",
        *(f"torch.{dtype}" for dtype in _DTYPES),
    }
)
"""What tensors and plain values need; ``torch.*Storage`` is allowed beside these."""

_TEXT = frozenset(
    {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE", "STRING", "BINSTRING", "SHORT_BINSTRING"}
)
_GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})
_PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_NUMBERS = frozenset({"BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4"})
_EXTENSIONS = frozenset({"EXT1", "EXT2", "EXT4"})


@dataclass(slots=True)
class PickleScan:
    """What opcodes say, as far as they can be read.

    ``unsafe``: globals asked for beyond tensors and plain values, in order. ``elements``: the largest number of
    elements that a storage claims. ``broken``: why the scan stopped early, empty if it reached the end.
    """

    unsafe: dict[str, None] = field(default_factory=dict)
    elements: int = 0
    broken: str = ""


def is_allowed(name: str) -> bool:
    """Tell whether a global is among what tensors and plain values need."""
    module, _, attribute = name.rpartition(".")
    return name in ALLOWED or (module == "torch" and attribute.endswith("Storage") and attribute.isalnum())


def scan_pickles(data: bytes, count: int) -> PickleScan:
    """Scan ``count`` pickles that stand one after another."""
    scan = PickleScan()
    stream = io.BytesIO(data)
    try:
        for _ in range(count):
            _scan_one(stream, scan)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        scan.broken = f"{error}" or type(error).__name__
    return scan


def _scan_one(stream: io.BytesIO, scan: PickleScan) -> None:
    """Follow one pickle; texts and memo are kept as far as STACK_GLOBAL needs them to name what it takes."""
    texts: list[str] = []
    memo: dict[object, str] = {}
    number = 0
    for opcode, argument, _ in pickletools.genops(stream):
        name = opcode.name
        if name in {"GLOBAL", "INST"}:
            _ask(str(argument).replace(" ", "."), scan)
        elif name == "STACK_GLOBAL":
            _ask(".".join(texts[-2:]) or "something computed while loading", scan)
        elif name in _EXTENSIONS:
            _ask(f"the registered extension {argument}", scan)
        elif name in _TEXT:
            texts = [*texts[-3:], str(argument)]
        elif name in _GETS and argument in memo:
            texts = [*texts[-3:], memo[argument]]
        elif (name in _PUTS or name == "MEMOIZE") and texts:
            memo[len(memo) if argument is None else argument] = texts[-1]
        elif name in _NUMBERS and isinstance(argument, int):
            number = argument
        elif name == "BINPERSID":
            scan.elements = max(scan.elements, number)


def _ask(name: str, scan: PickleScan) -> None:
    if not is_allowed(name):
        scan.unsafe[name] = None
