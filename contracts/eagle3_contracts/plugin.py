"""pytest options, marks, fixtures and hooks. Imports the standard library and pytest only."""
