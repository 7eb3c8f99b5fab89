"""Faults of live servers: of the connection, of what they serve, of what they answer.

Acceptance in float32 is exact, so that whatever changes what the drafter is fed shows there too.
"""

from eagle3_contracts.faults.catalogue.server.answered import ANSWERED_FAULTS
from eagle3_contracts.faults.catalogue.server.connections import CONNECTION_FAULTS
from eagle3_contracts.faults.catalogue.server.served import SERVED_FAULTS
from eagle3_contracts.faults.fault import Fault

SERVER_FAULTS: tuple[Fault, ...] = (*CONNECTION_FAULTS, *SERVED_FAULTS, *ANSWERED_FAULTS)

__all__ = ["SERVER_FAULTS"]
