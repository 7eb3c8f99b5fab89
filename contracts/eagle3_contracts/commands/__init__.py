"""One module per group of commands; each has ``add_arguments(name, parser)`` and ``run(arguments) -> exit code``.

They import what they need when they run, so that ``--help`` and ``list`` are quick.
"""

COMMANDS = {
    "list": ("catalog", "list the contracts of the catalog, or all clauses"),
    "show": ("catalog", "print a contract, with the defects of its document"),
    "explain": ("explanation", "print the ids that mean a contract's layout in every tool, or why there are none"),
    "diff": ("comparison", "name every change between two contracts, and whether it breaks artifacts"),
    "inspect": ("inspection", "describe a dataset without a contract, and name the contracts that can fit"),
    "check": ("checking", "check subjects against a contract"),
    "diagnose": ("diagnosis", "tell whether a drafter is wired wrong, was trained on wrong targets or too little"),
    "new": ("writing", "write a contract from a target's config.json and a trainer's conventions, and measure states"),
    "stamp": ("writing", "write beside a dataset or a checkpoint what the contract says of it"),
    "record": ("golden", "make a golden recording again from its stored weights (refused where CI is set)"),
    "faults": ("faults", "list the deliberate defects that prove what each clause catches"),
}
"""Command to module and summary."""
