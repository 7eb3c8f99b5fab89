"""``python -m eagle3_contracts``: the same as the command ``eagle3-contracts``."""

import sys

from eagle3_contracts.cli import main

sys.exit(main())
