# make demo and make test need nothing but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench proof picture clean

help:            ## what can be made here
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/installed: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "python3 (3.11 or newer) is needed"; exit 1; }
	@echo "setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -e .
	@touch $@

$(VENV)/developed: $(VENV)/installed
	@echo "installing what the tests need …"
	@$(PIP) install -e '.[dev]'
	@touch $@

demo: $(VENV)/installed            ## see it work, offline, on a dataset that is in the package
	@$(BIN)/callmark demo

test: $(VENV)/developed            ## all tests
	$(BIN)/python -m pytest

lint: $(VENV)/developed            ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/developed           ## ratios against the floor, in one run
	$(BIN)/python benchmarks/data.py

proof: $(VENV)/developed           ## what takes longer: a 2 GB file, memory, many examples
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/grader_agreement.py
	HYPOTHESIS_PROFILE=proof $(BIN)/python -m pytest -m laws -o timeout=1800

picture: $(VENV)/installed         ## the README's picture, made anew
	$(BIN)/python docs/picture.py

clean:           ## remove what was made
	rm -rf $(VENV) callmark-demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
