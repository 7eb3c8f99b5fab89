"""The typed evidence of each stage: what was read from a subject, before anyone judges it.

Types only. Arrays are numpy, float32 unless said otherwise; the dtype that a subject really stored or
computed in stands beside them as a torch dtype's name. Shapes: T tokens, H hidden, P planes, n layers,
V vocabulary, C candidates, S shifts. Clauses get these types and never a path, a file handle or a URL.
"""

from eagle3_contracts.evidence.capture import CapturedRequest, CaptureEvidence
from eagle3_contracts.evidence.checkpoint import (
    CheckpointEvidence,
    DraftedComparison,
    EmbeddingComparison,
    WeightRecord,
    WeightValues,
)
from eagle3_contracts.evidence.dataset import (
    DatasetEvidence,
    PlaneRecord,
    Signature,
    Stranger,
    Tally,
    TensorHeader,
)
from eagle3_contracts.evidence.golden import (
    GoldenEvidence,
    LogitAgreement,
    LogitForm,
    RecordedFile,
    RecordedSequence,
    StateAgreement,
    WorstRow,
)
from eagle3_contracts.evidence.launch import Argument, LaunchEvidence, NamedModel, Word
from eagle3_contracts.evidence.loader import (
    BAD,
    NOT_FINITE,
    STRANGE,
    ZEROS,
    Codes,
    Flags,
    LoadedRows,
    LoaderEvidence,
    LoaderRun,
    Scenario,
    Sentinel,
)
from eagle3_contracts.evidence.problem import Array, Problem, Table
from eagle3_contracts.evidence.target import (
    Candidate,
    LogitComparison,
    ReferenceStates,
    State,
    StateComparison,
    TargetComparison,
)

__all__ = [
    "BAD",
    "NOT_FINITE",
    "STRANGE",
    "ZEROS",
    "Argument",
    "Array",
    "Candidate",
    "CaptureEvidence",
    "CapturedRequest",
    "CheckpointEvidence",
    "Codes",
    "DatasetEvidence",
    "DraftedComparison",
    "EmbeddingComparison",
    "Flags",
    "GoldenEvidence",
    "LaunchEvidence",
    "LoadedRows",
    "LoaderEvidence",
    "LoaderRun",
    "LogitAgreement",
    "LogitComparison",
    "LogitForm",
    "NamedModel",
    "PlaneRecord",
    "Problem",
    "RecordedFile",
    "RecordedSequence",
    "ReferenceStates",
    "Scenario",
    "Sentinel",
    "Signature",
    "State",
    "StateAgreement",
    "StateComparison",
    "Stranger",
    "Table",
    "Tally",
    "TargetComparison",
    "TensorHeader",
    "WeightRecord",
    "WeightValues",
    "Word",
    "WorstRow",
]
