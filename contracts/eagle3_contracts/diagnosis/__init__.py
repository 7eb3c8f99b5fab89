"""The commonest question about a drafter, answered: whether it is wired wrong or just under-trained.

``diagnose`` scores the drafter under every wiring that its tensors allow, by the log-likelihood of the token that
the target would choose; it searches on half of the samples and confirms on the other half.
"""

from __future__ import annotations

from eagle3_contracts.diagnosis.diagnosing import USUAL_ACCURACY, diagnose
from eagle3_contracts.diagnosis.samples import DraftSample, sample_from_states
from eagle3_contracts.diagnosis.verdict import Diagnosis, Difference, DraftVerdict, Measured, Neighbour

__all__ = [
    "USUAL_ACCURACY",
    "Diagnosis",
    "Difference",
    "DraftSample",
    "DraftVerdict",
    "Measured",
    "Neighbour",
    "diagnose",
    "sample_from_states",
]
