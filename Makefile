# Each target makes its own virtual environment: a machine with Python 3.11 or later is all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check lint types architecture docs wheel lowest bench soak clean

demo: $(VENV)/.user
	$(BIN)/cranfield demo build/demo

test: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist worksteal -m "not soak"

check: lint types architecture docs wheel

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

architecture: $(VENV)/.dev
	$(BIN)/lint-imports
	$(BIN)/pytest tests/architecture

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py --check
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

wheel: $(VENV)/.dev
	$(BIN)/python tests/wheel_smoke.py

# The lowest versions that are declared, in an environment of their own: the journeys have to pass there too.
lowest:
	$(PYTHON) tests/lowest_versions.py

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

soak: $(VENV)/.dev
	CRANFIELD_SOAK=1 $(BIN)/pytest -n 2 --dist worksteal --timeout 7200

# The environment of a user has no development tools; that of a developer has both. Each step says what it does, and pip is not
# quiet: its lines show that something moves.
PIP = $(BIN)/python -m pip install --disable-pip-version-check

$(BIN)/python:
	@echo "Making a virtual environment in $(VENV), this once."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.user: pyproject.toml | $(BIN)/python
	@echo "Installing Cranfield and its libraries into $(VENV), this once; it takes a minute or two."
	@$(PIP) --editable '.[baselines,plots]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing Cranfield, its libraries and its developers' tools into $(VENV), this once; it takes some minutes."
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.user

clean:
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
