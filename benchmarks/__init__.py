"""How fast Turncoat is, beside its peers and beside bare loops: `python -m benchmarks`, or `make bench`."""
