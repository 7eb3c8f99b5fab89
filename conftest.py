"""Load the plugin and set this repository's defaults."""

from __future__ import annotations

import os

from hypothesis import settings

pytest_plugins = ["eagle3_contracts.plugin", "pytester"]

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("nightly", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
