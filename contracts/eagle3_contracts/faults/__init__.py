"""Faults: deliberate defects, each seen in public, that prove that a clause catches what it should.

The catalogue is data and imports the standard library only. What puts a fault into a capture, a dataset or a document
stands in ``injecting`` and works on the embedded target.
"""

from eagle3_contracts.faults.catalogue import FAULTS, faults_of, find_fault, list_faults
from eagle3_contracts.faults.fault import Fault, Kind

__all__ = ["FAULTS", "Fault", "Kind", "faults_of", "find_fault", "list_faults"]
