"""What must hold: one module or folder per stage, evidence and contract in, findings out."""
