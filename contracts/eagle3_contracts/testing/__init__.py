"""A session of contract tests, without pytest: choices, cases, findings, and whether they are enough.

Standard library only until the first clause is judged. The plugin translates between this and pytest.
"""
