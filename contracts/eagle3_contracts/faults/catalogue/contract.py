"""Faults of the document itself."""

from eagle3_contracts.faults.fault import Fault, Kind

CONTRACT_FAULTS: tuple[Fault, ...] = (
    Fault(
        "document-targets-from-auxiliary-plane",
        Kind.LAYER,
        "Training targets are computed from an auxiliary plane, which the loader strips as if it were the final state.",
        "vllm-project/speculators issue #705, issue #569",
        "contract.final-state",
    ),
    Fault(
        "document-input-not-stored",
        Kind.LAYER,
        "The drafter is fed a plane that is not among those on disk.",
        "vllm-project/speculators issue #705",
        "contract.input-stored",
    ),
    Fault(
        "document-plane-without-use",
        Kind.CFG,
        "A plane is declared that is neither stored nor fed: the wiring was changed on one side.",
        "vllm-project/vllm issue #54526",
        "contract.planes-used",
    ),
    Fault(
        "document-format-keeps-other-state",
        Kind.CONTENT,
        "SpecForge's files are declared to hold the state before the final norm, which its tool never writes.",
        "SpecForge 0.2.0, offline_capture/sglang_backend/utils.py, OfflineEagle3LogitsProcessor",
        "contract.format-planes",
    ),
    Fault(
        "document-engine-cannot-tap",
        Kind.LAYER,
        "The drafter is fed boundary n, which the engine it is promised for never captures on this architecture.",
        "vllm-project/vllm PR #46788",
        "contract.engine-ids",
    ),
    Fault(
        "document-engine-ignores-norm",
        Kind.CFG,
        "The drafter adds back the normed state, which every version of the engine it is promised for ignores.",
        "SGLang 0.5.9 to 0.5.23, srt/models/llama_eagle3.py",
        "contract.engine-features",
    ),
    Fault(
        "document-no-tolerance",
        Kind.QUANT,
        "No tolerance is declared for the dtype that states are stored in.",
        "same kind: sgl-project/SpecForge issue #60, a drafter served on a target of another precision",
        "contract.tolerance",
    ),
    Fault(
        "document-positions-too-few",
        Kind.ROPE,
        "The drafter is served beyond its rotary positions.",
        "NVIDIA-NeMo/Automodel PR #2399",
        "contract.positions",
    ),
)
