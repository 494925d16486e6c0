# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
CONFIG ?= configs/quickstart.yaml

.PHONY: demo test test-all bench soak fuzz audit lint docs desktop clean

demo: $(VENV)/.train  ## train policy, reward model and tasks in one closed loop; writes runs/quickstart/report.html
	$(BIN)/rlanything train --config $(CONFIG)

test: $(VENV)/.dev lint  ## everything that must hold at each commit
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-all: $(VENV)/.dev lint  ## the same, with the exhaustive comparisons
	RLANYTHING_EXHAUSTIVE=1 $(BIN)/python -m pytest -n 2

desktop: $(VENV)/.dev  ## the Debian packages of the bwrap desktop (root); tests of desktops are skipped without them
	$(BIN)/rlanything desktop doctor --install

bench: $(VENV)/.dev  ## speed tables, each with its baseline in the same run
	$(BIN)/python -m benchmarks.alfworld
	$(BIN)/python -m benchmarks.curriculum
	$(BIN)/python -m benchmarks.coding
	$(BIN)/python -m benchmarks.loop
	$(BIN)/python -m benchmarks.osworld
	$(BIN)/python -m benchmarks.view
	$(BIN)/python -m benchmarks.scaling

soak: $(VENV)/.dev  ## hours of work in minutes: does memory, do files or processes grow?
	$(BIN)/python -m benchmarks.soak

fuzz: $(VENV)/.dev  ## every reader of untrusted content, guided by coverage, so many seconds each
	$(PIP) -e '.[fuzz]'
	$(BIN)/python tests/fuzz/guided.py --seconds $(or $(SECONDS_EACH),20)

audit: $(VENV)/.dev  ## known vulnerabilities of the pinned packages; asks an advisory service
	$(BIN)/python tests/fuzz/audit.py

docs: $(VENV)/.dev  ## the documentation, built strictly into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit -q -c pyproject.toml -r verifiers/rlanything_verifiers task_pools/rlanything_task_pools rlanything_envs agents/rlanything_agents

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.train: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing the training stack into $(VENV) (a few minutes, once)"
	$(PIP) -e '.[train]'
	@touch $@

$(VENV)/.dev: $(VENV)/.train
	@echo "Installing the test tools and the ALFWorld oracle into $(VENV) (once)"
	$(PIP) -e '.[train,llm,export,alfworld,docker,ray,desktop,video,trackers,docs,dev]'
	@touch $@

clean:
	rm -rf $(VENV) .venvs site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
