"""Faults of capture code."""

from eagle3_contracts.faults.fault import Fault, Kind
from eagle3_contracts.registry.capture import CAPTURE


def _of(*names: str) -> tuple[str, ...]:
    return tuple(f"capture.{name}" for name in names)


_PLACED = _of("boundary", "order", "residual", "token-shift", "final-state")
"""What nothing can be said of as long as planes cannot be held against the target."""
_ALL_BUT_RUNS = tuple(clause.id for clause in CAPTURE if clause.id != "capture.runs")

CAPTURE_FAULTS: tuple[Fault, ...] = (
    Fault(
        "capture-without-hook",
        Kind.LAYER,
        "The wrapper around the model has no way to set the layers to capture, and raises.",
        "sgl-project/sglang issue #17935",
        "capture.runs",
        unchecked=_ALL_BUT_RUNS,
    ),
    Fault(
        "capture-last-id-never-reached",
        Kind.LAYER,
        "States are appended before each layer, so that an id equal to the number of layers captures nothing.",
        "vllm-project/vllm PR #46788",
        "capture.plane-count",
        unchecked=(*_PLACED, *_of("norm-range")),
    ),
    Fault(
        "capture-early-stage-planes-lost",
        Kind.PAR,
        "Planes captured on an early pipeline stage are not handed on; the last stage gives its own alone.",
        "sgl-project/sglang PR #39644",
        "capture.plane-count",
        unchecked=(*_PLACED, *_of("norm-range")),
    ),
    Fault(
        "capture-drafter-width",
        Kind.CFG,
        "Buffers are made in the drafter's width, and the target's states cut to it.",
        "sgl-project/sglang PR #24663",
        "capture.width",
        unchecked=_PLACED,
    ),
    Fault(
        "capture-last-chunk-alone",
        Kind.DATA,
        "Prefill runs in chunks, and the states of the last chunk alone are kept.",
        "IBM/vLLM-Hook issue #22",
        "capture.rows",
        unchecked=_PLACED,
    ),
    Fault(
        "capture-special-token-added",
        Kind.DATA,
        "The tokenizer's template puts a token in front of those that were asked for.",
        "NVIDIA/Model-Optimizer PR #300",
        "capture.token-ids",
    ),
    Fault(
        "capture-cast-to-float16",
        Kind.QUANT,
        "States are cast to float16 on the way out.",
        "vllm-project/vllm issue #55250",
        "capture.dtype",
    ),
    Fault(
        "capture-overflow",
        Kind.QUANT,
        "A cast through a narrower dtype has overflowed: some values are infinite.",
        "vllm-project/vllm issue #55250",
        "capture.finite",
    ),
    Fault(
        "capture-unwritten-slots",
        Kind.DATA,
        "Slots of the cache are addressed with the wrong block size, so that the last rows are never written.",
        "vllm-project/vllm PR #46301, vllm-project/speculators issue #613",
        "capture.zero-rows",
    ),
    Fault(
        "capture-scaled",
        Kind.QUANT,
        "States are quantised with a scale that is not applied again.",
        "hs-connectors 0.9.0, FileTransfer: it reads float8 files without their scales",
        "capture.norm-range",
        companions=_of("boundary"),
        unchecked=_of("order", "residual", "token-shift"),
    ),
    Fault(
        "capture-ids-one-late",
        Kind.LAYER,
        "Boundary ids are read as ids of layer outputs: every plane is one boundary late.",
        "sgl-project/sglang PR #25454",
        "capture.boundary",
    ),
    Fault(
        "capture-ids-one-early",
        Kind.LAYER,
        "Ids of layer outputs are read as boundaries: every plane is one boundary early.",
        "Avarok-Cybersecurity/atlas PR #394",
        "capture.boundary",
        companions=_of("final-state"),
    ),
    Fault(
        "capture-taps-set-too-late",
        Kind.RUNTIME,
        "Layers to capture are set after the graph was captured, which keeps the defaults of another depth.",
        "sgl-project/sglang PR #22836",
        "capture.boundary",
    ),
    Fault(
        "capture-rope-theta-lost",
        Kind.ROPE,
        "The target is run with the default rotary base, since its config nests rope_theta elsewhere.",
        "sgl-project/SpecForge issue #265, PR #702",
        "capture.boundary",
        companions=_of("final-state"),
        unchecked=_of("order", "residual"),
    ),
    Fault(
        "capture-rotated-stream",
        Kind.QUANT,
        "The target is quantised with its residual stream rotated, and states are captured in the rotated basis.",
        "vllm-project/vllm-ascend issue #5974",
        "capture.boundary",
        companions=_of("final-state"),
        unchecked=_of("order", "residual", "token-shift"),
    ),
    Fault(
        "capture-list-order",
        Kind.LAYER,
        "Planes are given in the order of an unsorted id list.",
        "vllm-project/vllm PR #50514",
        "capture.order",
    ),
    Fault(
        "capture-residual-missing",
        Kind.CONTENT,
        "A fused layer's hidden state is captured before the residual is added.",
        "sgl-project/sglang PR #39286, IBM/vLLM-Hook PR #11",
        "capture.residual",
        companions=_of("norm-range"),
    ),
    Fault(
        "capture-shifted",
        Kind.ALIGN,
        "States are moved by one token against their ids.",
        "same kind: sgl-project/SpecForge PR #448, a shift too many in offline training",
        "capture.token-shift",
        unchecked=_of("final-state"),
    ),
    Fault(
        "capture-final-state-normed",
        Kind.CONTENT,
        "The last plane is transformers' hidden_states[n], which is after the final norm.",
        "vllm-project/speculators PR #313, verl-project/verl-SpeCo PR #21",
        "capture.final-state",
        companions=_of("norm-range"),
    ),
    Fault(
        "capture-buffer-reused",
        Kind.CONTENT,
        "Planes are views of one buffer, which the next request overwrites.",
        "sgl-project/sglang PR #39286",
        "capture.aliasing",
    ),
    Fault(
        "capture-in-place-add",
        Kind.CONTENT,
        "Each plane is the residual stream itself, to which later layers add in place.",
        "sgl-project/sglang PR #39286",
        "capture.aliasing",
        companions=_of("boundary"),
    ),
    Fault(
        "capture-padding-attended",
        Kind.DATA,
        "Requests are padded on the left without a mask, and attend to the padding.",
        "same kind: vllm-project/speculators issue #279, other states in a batch than alone",
        "capture.padded-batch",
    ),
    Fault(
        "capture-keys-left-over",
        Kind.DATA,
        "Keys and values of a batch are still in the cache when the next request runs.",
        "vllm-project/speculators issue #279",
        "capture.request-isolation",
    ),
)
