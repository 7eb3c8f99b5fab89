"""Hand-made evidence for the clauses' own tests: numbers chosen so that one thing is wrong at a time."""
