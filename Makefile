# Two commands are all a newcomer needs: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.can-run
TESTS := $(VENV)/.can-test
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet -c constraints.txt
# The CPU build of PyTorch; the default build brings several GB of CUDA. To install the default
# build, run `make run TORCH_INDEX=`.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
FROM_TORCH := --no-deps --retries 0 --extra-index-url "$(TORCH_INDEX)"

.PHONY: install run test test-slow bench check format docs tutorials wheel wheels clean help

help:
	@echo "make install    install Treeviews and its requirements into .venv"
	@echo "make run        install the requirements, then run the whole pipeline on the bundled text"
	@echo "make test       install the test requirements, then run the fast tests"
	@echo "make test-slow  run the tests that take more than about two seconds"
	@echo "make bench      run every benchmark quickly and print one page of results"
	@echo "make check      run ruff and mypy"
	@echo "make format     apply ruff's fixes and formatting"
	@echo "make docs       build the site into build/site"
	@echo "make tutorials  run the notebooks of docs/tutorials again and store their output"
	@echo "make wheel      build the wheel with all bundled data into dist/"
	@echo "make wheels     build it and collect the wheels of its requirements in wheels/, for offline use"
	@echo "make clean      remove .venv, build/ and dist/, but keep the results in data/work"

install: $(RUNS)

run: $(RUNS)
	$(BIN)/luigi --module tasks RunAll --local-scheduler

test: $(TESTS)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-slow: $(TESTS)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow -n 2 --dist loadfile

# The page goes to standard output, progress to standard error.
bench: $(TESTS)
	@$(BIN)/python -m benchmarks.bench

check: $(TESTS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/types && mkdir -p build/types/treeviews
	ln -sfn $(CURDIR)/treeviews/* $(CURDIR)/pipeline $(CURDIR)/models $(CURDIR)/tasks build/types/treeviews
	$(BIN)/mypy

format: $(TESTS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(TESTS)
	$(BIN)/sphinx-build -W --keep-going -q -c docs/site . build/site

tutorials: $(TESTS)
	$(BIN)/python docs/site/tutorials.py

wheel: $(RUNS)
	$(PIP) wheel --quiet --no-deps --wheel-dir dist .

wheels: $(RUNS)
	test -z "$(TORCH_INDEX)" || $(PIP) wheel --quiet --wheel-dir wheels -c constraints.txt $(FROM_TORCH) torch
	$(PIP) wheel --quiet --wheel-dir wheels -c constraints.txt --find-links wheels .

# Installs again only when the ranges or the pins change. Bytecode of all modules would be a sixth of
# the installation, so a sentence is encoded here, which compiles only the modules in use.
$(RUNS): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 13) else "Treeviews needs Python 3.11 or 3.12, found %d.%d: run make PYTHON=python3.11 ..." % v)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -z "$(TORCH_INDEX)" || $(INSTALL) --no-compile $(FROM_TORCH) torch
	rm -rf treeviews.egg-info  # an earlier release's would hide the installed metadata
	$(INSTALL) --no-compile -e .
	@log=$$(echo "It is installed." | env -u PYTHONDONTWRITEBYTECODE $(BIN)/treeviews encode english-trees 2>&1 > /dev/null) || { echo "$$log" >&2; exit 1; }
	@echo "Treeviews is installed: try $(BIN)/treeviews encode english < sentences.txt > embeddings.npy, or make run"
	@touch $(RUNS)

$(TESTS): $(RUNS)
	$(INSTALL) -e '.[dev]'
	-$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib
	@touch $(TESTS)

clean:
	rm -rf $(VENV) build dist
