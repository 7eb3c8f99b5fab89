"""Changed code that the tests should fail: how mutants of the clauses are made, tried and told."""
