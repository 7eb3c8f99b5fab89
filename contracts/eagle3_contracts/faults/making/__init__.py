"""Writing a fault of the catalogue to disk, so that users try their own pipelines and CI on it.

``make_fault(ID, folder)`` writes what is faulty, the contract where the fault needs one of its own, a README.txt and a
fault.json that say what must catch it and by which command; ``sound=True`` writes the counterpart without the fault.
"""

from __future__ import annotations

from eagle3_contracts.faults.making.folder import MadeFault, make_fault
from eagle3_contracts.faults.making.placing import MakingError

__all__ = ["MadeFault", "MakingError", "make_fault"]
