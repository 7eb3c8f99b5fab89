"""The ``contract.*`` clauses: defects of the document itself."""

from eagle3_contracts.findings import Level
from eagle3_contracts.registry.clause import Clause

CONTRACT = (
    Clause(
        "contract.final-state",
        Level.SHOULD,
        "The plane that training targets are computed from is boundary n.",
        "Targets computed from an auxiliary plane teach the drafter another model: speculators PR #313 (first-token "
        "acceptance 25 % to 40 %), speculators issue #569.",
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
        "contract.engine-ids",
        Level.SHOULD,
        "For every engine and version that the contract serves there is one id list that taps the declared boundaries.",
        "sglang PR #25454: the same ids tap other layers from one version to the next, on the same model.",
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
