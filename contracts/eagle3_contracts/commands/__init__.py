"""One module per group of commands; each has ``add_arguments(name, parser)`` and ``run(arguments) -> exit code``.

They import what they need when they run, so that ``--help`` and ``list`` are quick.
"""

COMMANDS = {
    "list": ("catalog", "list the contracts of the catalog, or all clauses"),
    "show": ("catalog", "print a contract, with the defects of its document"),
    "diff": ("comparison", "name every change between two contracts, and whether it breaks artifacts"),
    "check": ("checking", "check subjects against a contract"),
}
"""Command to module and summary."""
