"""Parts that rules are built from: sampling, estimators, discounted sums, tests for changes, indices."""
