# What to run before a commit: `make check`. The tools are those of .venv, which the README's test command makes;
# `make check BIN=` takes those of your PATH instead.
BIN = .venv/bin/
# More threads inside each test process would be in the way.
PYTEST = OMP_NUM_THREADS=1 $(BIN)python -m pytest -n 2

.PHONY: check style types quick test format

check: style types quick

style:
	$(BIN)ruff check
	$(BIN)ruff format --check

types:
	$(BIN)mypy

# The quick tests, in two minutes; `test` runs all of them, in ten.
quick:
	$(PYTEST) -m "not slow"

test:
	$(PYTEST)

format:
	$(BIN)ruff check --fix
	$(BIN)ruff format
