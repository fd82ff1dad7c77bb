# Two commands are all a newcomer needs: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.can-run
TESTS := $(VENV)/.can-test
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet -c constraints.txt
# PyTorch for CPUs is tried here first, since the one on the index brings several GB of CUDA;
# `make run TORCH_INDEX=` takes that one.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
FROM_TORCH := --no-deps --retries 0 --extra-index-url "$(TORCH_INDEX)"

.PHONY: install run test test-slow bench check format docs tutorials wheel wheels clean help

help:
	@echo "make install what it needs, into .venv"
	@echo "make run     install what it needs, then run the whole pipeline on the embedded corpus"
	@echo "make test    install what tests need, too, then run them"
	@echo "make test-slow  the tests of more than some two seconds"
	@echo "make bench   a quick run of every benchmark, and one page of what they measured"
	@echo "make check   ruff and mypy"
	@echo "make docs    the site, into build/site"
	@echo "make tutorials  run the notebooks of docs/tutorials anew, and store what they print"
	@echo "make wheel   the wheel, with all that ships, into dist/"
	@echo "make wheels  it and all wheels that it needs, into wheels/, for a machine offline"
	@echo "make clean   remove the environment (data/work, the results, stays)"

install: $(RUNS)

run: $(RUNS)
	$(BIN)/luigi --module tasks RunAll --local-scheduler

test: $(TESTS)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-slow: $(TESTS)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow -n 2 --dist loadfile

# The page goes to standard output, what is being measured is told on standard error.
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

# Installed again only when the ranges or the pins change. Bytecode of all modules would be a sixth of
# the installation: so the first sentence is encoded here, which writes that of the modules in use.
$(RUNS): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 13) else "Treeviews needs Python 3.11 or 3.12, found %d.%d: run make PYTHON=python3.11 ..." % v)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -z "$(TORCH_INDEX)" || $(INSTALL) --no-compile $(FROM_TORCH) torch
	rm -rf treeviews.egg-info  # of an earlier release, it would be read instead of what is installed
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
