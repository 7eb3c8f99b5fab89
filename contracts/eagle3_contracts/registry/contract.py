"""The ``contract.*`` clauses: defects of the document itself."""

from eagle3_contracts.findings import Level
from eagle3_contracts.registry.clause import Clause

CONTRACT = (
    Clause(
        "contract.final-state",
        Level.SHOULD,
        "Training targets are computed from boundary n, with the final norm applied exactly once.",
        "Targets computed from an auxiliary plane teach the drafter another model: speculators issue #569; without "
        "the norm: speculators PR #313 (first-token acceptance 25 % to 40 %).",
    ),
    Clause(
        "contract.input-stored",
        Level.SHOULD,
        "Every plane that the drafter's input and targets name is stored, in every declared format.",
        "speculators issue #705: planes in the file and planes that the loader expects were counted apart.",
    ),
    Clause(
        "contract.planes-used",
        Level.SHOULD,
        "Every declared plane is stored or fed to the drafter.",
        "A plane that nobody reads is the trace of a wiring that was changed on one side only.",
    ),
    Clause(
        "contract.format-planes",
        Level.SHOULD,
        "Every declared format has the final state and the order that its own tool writes.",
        "SpecForge and AngelSlim store final_norm(R[n]) and apply the head alone; vLLM stores R[n], and sorts its ids.",
    ),
    Clause(
        "contract.engine-ids",
        Level.SHOULD,
        "For every engine that the contract serves there is one id list that taps the declared boundaries in every "
        "version.",
        "sglang PR #25454: the same ids tap other layers from one version to the next, on the same model.",
    ),
    Clause(
        "contract.engine-features",
        Level.SHOULD,
        "Every version of every engine that the contract serves can run the declared drafter.",
        "norm_before_residual, norm_before_fc, fc_norm and norm_output are ignored in silence by engines and versions "
        "that do not know them: vllm PR #42143, TensorRT-LLM PR #14988, sglang issue #32226.",
    ),
    Clause(
        "contract.tolerance",
        Level.SHOULD,
        "A tolerance is declared for the target's dtype and for the storage's.",
        "Without one, the numeric clauses of that dtype cannot be decided.",
    ),
    Clause(
        "contract.positions",
        Level.SHOULD,
        "The drafter's positions reach the serving context length.",
        "TensorRT-LLM and SGLang serve past the drafter's rotary range without a word; acceptance falls there.",
    ),
)
