# Named chores. Each sets up .venv by itself, once, and again only when the dependencies change.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
LIGHT := .venv-chat

.PHONY: help setup test check format docs bench chat clean
help:  ## what the chores are
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(READY)  ## make .venv with all that the chores need
$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Heartfelt needs Python 3.11 or newer: make PYTHON=python3.12 …"; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

test: $(READY)  ## run all the tests that CI runs
	$(BIN)/python -m pytest -n auto

check: $(READY)  ## lint, format, types, direction of imports, freshness of generated docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python docs/generate.py --check

format: $(READY)  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)  ## write the generated pages anew
	$(BIN)/python docs/generate.py

bench: $(READY)  ## measure speed and memory, as ratios
	@for b in benchmarks/bench_*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

chat: $(LIGHT)/.ready  ## talk to it: a set-up of its own, without torch
	@$(LIGHT)/bin/heartfelt chat

$(LIGHT)/.ready: pyproject.toml constraints.txt
	@test -x $(LIGHT)/bin/python || $(PYTHON) -m venv $(LIGHT)
	@$(LIGHT)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[chat]'
	@touch $(LIGHT)/.ready

clean:  ## remove .venv and caches
	rm -rf .venv $(LIGHT) .pytest_cache .ruff_cache .mypy_cache .import_linter_cache build dist
