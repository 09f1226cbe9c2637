# `make run` and `make test` need Python >= 3.11 and nothing else; both make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DOCS_VENV := .venv-docs
ORACLES_VENV := .venv-oracles
RELEASE_VENV := .venv-release
JOBS ?= 2
SHOWCASE := four-robots-one-threshold talim-switching cyclic-constant pipeline-light dbworld-threshold routing-two-servers

.PHONY: run test suite lint test-all test-bounds test-interpreted test-nightly check-library bench oracles release-check docs clean

run: $(VENV)/.installed
	@code=0; $(BIN)/crawlsim check $(SHOWCASE) --jobs $(JOBS) --out out || code=$$?; \
	[ $$code -gt 1 ] || echo "The report, with figures: $(CURDIR)/out/report.html"; exit $$code

# What every change runs, in three rings; how long each takes stands in CONTRIBUTING.md.
RINGS := test suite test-all test-bounds test-interpreted test-nightly
$(RINGS): export PYTHONDONTWRITEBYTECODE :=
$(RINGS): export NUMBA_CACHE_DIR := $(CURDIR)/build/machine-code

# The suite as users run it; lint and types take the time that a worker has to wait.
test: $(VENV)/.installed-test
	@$(MAKE) --no-print-directory --jobs 2 lint suite

suite: $(VENV)/.installed-test
	$(BIN)/pytest -n $(JOBS) --dist loadfile

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What `make test` leaves out: the site; what is thorough, and the kernels' tests once more, with every
# index checked (less optimised: that takes a fifth less to compile, and no more to run); and the engines
# as plain Python, where a debugger can follow them.
test-all: docs test-bounds test-interpreted

test-bounds: $(VENV)/.installed-test
	NUMBA_BOUNDSCHECK=1 NUMBA_OPT=1 $(BIN)/pytest -n $(JOBS) --dist loadfile \
	-m "(kernels or thorough) and not nightly" --hypothesis-profile all

test-interpreted: $(VENV)/.installed-test
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n $(JOBS) -m "not large and not nightly" --hypothesis-profile all \
	tests/sim/test_engines_agree.py tests/sim/test_ties.py tests/sim/test_feeding.py

# What is long: statistical studies, large systems, every library scenario at its own settings, and
# systems drawn anew each time. The last result stands in docs/nightly.md.
test-nightly: $(VENV)/.installed-test
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n $(JOBS) -m "hypothesis and not large and not nightly" \
	--hypothesis-profile night tests/sim/test_engines_agree.py tests/sim/test_ties.py
	$(BIN)/pytest -n $(JOBS) -m "nightly or hypothesis" --hypothesis-profile night

check-library: $(VENV)/.installed
	$(BIN)/crawlsim check $$($(BIN)/crawlsim scenarios --names) --jobs $(JOBS)

bench: export PYTHONPATH := $(CURDIR)
bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/bench_start.py
	$(BIN)/python benchmarks/bench_queue.py
	$(BIN)/python benchmarks/bench_scale.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_thresholds.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_switching.py
	$(BIN)/python benchmarks/bench_chain.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_course.py
	$(BIN)/python benchmarks/bench_interventions.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_frontier.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_pages.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_pipeline.py
	$(BIN)/python benchmarks/bench_routing.py
	$(BIN)/python benchmarks/bench_probing.py
	$(BIN)/python benchmarks/bench_fitting.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench_schedule.py
	$(BIN)/python benchmarks/bench_setup.py
	$(BIN)/python benchmarks/bench_rare.py
	$(BIN)/python benchmarks/bench_many_pages.py --pages 1e7 --replications 2,6
	$(BIN)/python benchmarks/bench_frequencies.py --pages 10000000 100000000
	$(BIN)/python benchmarks/overview.py

# What other tools say of small systems, stored for the tests: LINE wants another pandas than we do.
oracles: $(VENV)/.installed $(ORACLES_VENV)/.installed
	$(BIN)/python -m experiments.line_oracles

# Whether a release can be made of what is committed: built twice, read, installed and used.
release-check: $(RELEASE_VENV)/.installed
	$(RELEASE_VENV)/bin/python -m experiments.release_check

# The documentation site, in an environment of its own; every warning is an error.
docs: $(DOCS_VENV)/.installed
	PYTHONPATH=docs $(DOCS_VENV)/bin/python -m generator

clean:
	rm -rf $(VENV) $(DOCS_VENV) $(ORACLES_VENV) $(RELEASE_VENV) docs/_build out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python $(DOCS_VENV)/bin/python $(ORACLES_VENV)/bin/python $(RELEASE_VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "crawlsim needs Python >= 3.11; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)

# Python compiles what it imports; all that comes with the packages would take half a minute.
$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(DOCS_VENV)/.installed: $(DOCS_VENV)/bin/python pyproject.toml constraints.txt
	$(DOCS_VENV)/bin/python -m pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@

$(ORACLES_VENV)/.installed: $(ORACLES_VENV)/bin/python
	$(ORACLES_VENV)/bin/python -m pip install --no-compile --quiet --disable-pip-version-check line-solver==3.0.8.0 ciw==3.2.7 most-queue==2.9
	@touch $@

$(RELEASE_VENV)/.installed: $(RELEASE_VENV)/bin/python
	$(RELEASE_VENV)/bin/python -m pip install --no-compile --quiet --disable-pip-version-check build==1.6.1 cffconvert==2.0.0 twine==7.0.0
	@touch $@

$(VENV)/.installed-test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $(VENV)/.installed $@
