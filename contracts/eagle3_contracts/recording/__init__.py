"""Recording goldens: the states and datasets of a target whose weights are in the repository.

``record`` re-records from the stored weights. Making new weights is another thing: see ``training``.
"""

from eagle3_contracts.recording.recorder import Recording, RecordingError, record

__all__ = ["Recording", "RecordingError", "record"]
