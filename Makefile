# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
CONFIG ?= configs/quickstart.yaml

# Tests start hundreds of processes, which would compile the packages again and again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all machines bench audit lint docs desktop release clean

demo: $(VENV)/.train  ## train policy, reward model and tasks in one closed loop; writes runs/quickstart/report.html
	@echo "10 to 16 minutes of work on two cores. Ctrl-C stops it; the same command resumes from the last checkpoint."
	$(BIN)/rlanything train $(CONFIG)
	@echo "Next:  . $(BIN)/activate    # puts the rlanything command on your path"
	@echo "       rlanything view runs/quickstart"

# Three workers on two cores: a third of the time the tests wait for processes that they started.
test: $(VENV)/.dev lint  ## everything that must hold at each commit
	$(BIN)/python -m pytest -n 3 -m "not slow"

test-all: $(VENV)/.original lint  ## the same, with exhaustive checks and comparisons against the original ALFWorld stack
	RLANYTHING_EXHAUSTIVE=1 $(BIN)/python -m pytest -n 2

desktop: $(VENV)/.dev  ## the root folder of the bwrap desktop, 0.5 GB from a mirror of Debian; without it, tests of desktops are skipped
	$(BIN)/rlanything desktop install

machines:  ## the Debian packages of containers and virtual machines (root); their slow tests are skipped without them
	apt-get update
	apt-get install -y --no-install-recommends debootstrap docker.io fdisk mtools ovmf qemu-system-x86 qemu-utils

bench: $(VENV)/.dev  ## speed tables, each with its baseline in the same run
	$(BIN)/python -m benchmarks.alfworld
	$(BIN)/python -m benchmarks.curriculum
	$(BIN)/python -m benchmarks.coding
	$(BIN)/python -m benchmarks.loop
	$(BIN)/python -m benchmarks.osworld

audit: $(VENV)/.dev  ## known vulnerabilities of the pinned packages; asks an advisory service
	$(BIN)/python tests/fuzz/audit.py

docs: $(VENV)/.dev  ## the documentation, built strictly into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

release: $(VENV)/.dev  ## wheel and sdist in dist/, checked as their users will use them; a workflow publishes them
	$(BIN)/python scripts/check_release.py
	$(BIN)/python -m pytest tests/test_distribution.py tests/test_light_command.py tests/docs/test_readme.py
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit -q -c pyproject.toml -r verifiers/rlanything_verifiers task_pools/rlanything_task_pools rlanything_envs agents/rlanything_agents studies

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.train: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing the training stack into $(VENV), once: PyTorch, Transformers, TRL and what they need."
	@$(BIN)/python scripts/announce_torch.py
	$(PIP) -e '.[train]'
	@touch $@

$(VENV)/.dev: $(VENV)/.train
	@echo "Installing the test tools into $(VENV), once: about 300 MB more."
	$(PIP) -e '.[train,llm,export,docker,mcp,ray,desktop,video,trackers,docs,dev]'
	@touch $@

$(VENV)/.original: $(VENV)/.dev
	@for tool in g++ cmake; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ]; then \
		echo "The original ALFWorld stack is compiled on installation and needs:$$missing" >&2; \
		echo "On Debian and Ubuntu: sudo apt-get install g++ cmake" >&2; exit 1; fi
	@echo "Installing the original ALFWorld stack into $(VENV), once: a few minutes of compiling."
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) -e '.[alfworld]'  # its planner's build script calls a program named python
	@touch $@

clean:
	rm -rf $(VENV) .venvs site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
