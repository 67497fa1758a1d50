# Two commands for a newcomer: `make demo` shows Maestro at work, `make test` proves it.
# Each sets up all it needs in .venv from a pinned, hashed lock and says what it does.

PYTHON ?= python3
# How many tests run side by side; 0 for one after the other. One more than processors, because many tests wait.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Which tests `make test-slow` runs: without npm "slow and not agents".
SLOW ?= slow
VENV   := .venv
BIN    := $(VENV)/bin
# The machine may forbid bytecode files; without them every start compiles all it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo demo-agents test test-slow test-rounds test-agents check bench docs lock clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/ready ## see Maestro work: real processes, mail, runs (a minute)
	@$(BIN)/maestro demo

demo-agents: $(VENV)/ready ## see it lead the real claude, codex and gemini, with a scripted model (needs npm)
	@PYTHONPATH=tests/agents $(BIN)/python -m agent_programs.installed
	@PYTHONPATH=tests/agents $(BIN)/python -m demo

test: $(VENV)/ready-dev ## run the tests (all but the slow ones and those of `make check`)
	@echo "— running the tests"
	@$(BIN)/python -m pytest -m "not slow and not agents" -n $(WORKERS) --dist loadfile --durations=10 --ignore=tests/house

test-slow: $(VENV)/ready-dev ## run the tests that take minutes (those of the agent programs need npm)
	@echo "— running the slow tests"
	@$(BIN)/python -m pytest -m "$(SLOW)" -n $(WORKERS) --dist loadfile --durations=10

test-rounds: $(VENV)/ready-dev ## run the long round tests in full, print counts and seeds (ROUNDS=200 CASE=kill SEED=7)
	@MAESTRO_ROUNDS=$(or $(ROUNDS),full) MAESTRO_SEED=$(SEED) \
		$(BIN)/python -m pytest -m rounds -s $(if $(CASE),-k "$(CASE)")

test-agents: $(VENV)/ready-dev ## run claude, codex and gemini for real, against a scripted model (needs npm)
	@PYTHONPATH=tests/agents $(BIN)/python -m agent_programs.installed
	@echo "— running the agent programs"
	@$(BIN)/python -m pytest -m "agents and not slow" -n $(WORKERS) --durations=10 tests/agents tests/contract/agents

check: $(VENV)/ready-dev ## lint, types, layers and the house tests
	@echo "— ruff";          $(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "— mypy";          $(BIN)/mypy
	@echo "— import-linter"; $(BIN)/lint-imports
	@echo "— house tests";   $(BIN)/python -m pytest tests/house

bench: $(VENV)/ready-dev ## measure every bar (CASE=http for one), or this tree against a commit (BASE=COMMIT ROUNDS=20)
ifdef BASE
	@$(BIN)/python -m bench.compare $(BASE) $(if $(CASE),--case $(CASE)) $(if $(ROUNDS),--rounds $(ROUNDS))
else
	@$(BIN)/python -m bench $(CASE)
endif

docs: $(VENV)/ready-dev ## write the generated parts of docs/ anew
	@$(BIN)/python -m maestro.docs

lock: ## pin the newest versions anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml requirements/build.in -o requirements/run.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml requirements/build.in requirements/dev.in -o requirements/dev.txt

clean: ## remove what make made
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@echo "— making a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Maestro needs Python 3.11 or later; this is " + sys.version)'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/locked: requirements/run.txt | $(VENV)/bin/python
	@echo "— installing what Maestro runs on (pinned, hashed)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	@touch $@

$(VENV)/ready: pyproject.toml setup.py src/maestro/client/native/maestro.c src/maestro/client/script.py $(VENV)/locked
	@echo "— installing Maestro itself"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src $(VENV)/lib
	@touch $@

$(VENV)/ready-dev: requirements/dev.txt $(VENV)/ready
	@echo "— installing the tools for checking and testing (pinned, hashed)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m compileall -q $(VENV)/lib
	@touch $@
