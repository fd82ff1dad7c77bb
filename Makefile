# Two commands are all a newcomer needs: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: run test test-slow check format clean help

help:
	@echo "make run     install, then run the whole pipeline on the embedded default corpus"
	@echo "make test    install, then run the tests"
	@echo "make test-slow  the tests that start trainings and benchmarks of their own"
	@echo "make check   install, then ruff and mypy"
	@echo "make clean   remove the environment (data/work, the results, stays)"

run: $(STAMP)
	$(BIN)/luigi --module tasks RunAll --local-scheduler

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile

test-slow: $(STAMP)
	$(BIN)/python -m pytest -m slow

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Installed again only when the ranges or the pins change.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 13) else "Treeviews needs Python 3.11 or 3.12, found %d.%d: run make PYTHON=python3.11 ..." % v)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,vectors]'
	@touch $(STAMP)

clean:
	rm -rf $(VENV)
