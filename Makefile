# `make run` and `make test` need Python >= 3.11 and nothing else; both make their own environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DOCS_VENV := .venv-docs
JOBS ?= 2
SHOWCASE := four-robots-one-threshold talim-switching cyclic-constant pipeline-light dbworld-threshold routing-two-servers

.PHONY: run test lint test-bounds test-compiled test-interpreted test-nightly check-library bench docs clean

run: $(VENV)/.installed
	@code=0; $(BIN)/crawlsim check $(SHOWCASE) --jobs $(JOBS) --out out || code=$$?; \
	[ $$code -gt 1 ] || echo "The report, with figures: $(CURDIR)/out/report.html"; exit $$code

test: lint docs test-bounds test-compiled test-interpreted

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The whole suite, with every index of the compiled engine checked. Its own empty cache: code that
# was compiled without the checks would be taken from another.
test-bounds: $(VENV)/.installed-test
	@cache=$$(mktemp -d); trap 'rm -rf "$$cache"' EXIT; \
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR="$$cache" $(BIN)/pytest -n $(JOBS)

# What users run: the engines compiled as usual, and the command line.
test-compiled: $(VENV)/.installed-test
	$(BIN)/pytest -n $(JOBS) tests/sim/test_engines_agree.py tests/crawlsim/test_cli.py

# The same loops as plain Python, where a debugger can follow them.
test-interpreted: $(VENV)/.installed-test
	NUMBA_DISABLE_JIT=1 CRAWLSIM_EXAMPLES=20 $(BIN)/pytest -n $(JOBS) -m "not large and not nightly" \
	tests/sim/test_engines_agree.py tests/sim/test_ties.py tests/sim/test_feeding.py

# What is long: statistical studies, large systems, and every library scenario at its own settings.
# The last result stands in docs/nightly.md.
test-nightly: $(VENV)/.installed-test check-library
	$(BIN)/pytest -n $(JOBS) -m nightly

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

# The documentation site, in an environment of its own; every warning is an error.
docs: $(DOCS_VENV)/.installed
	PYTHONPATH=docs $(DOCS_VENV)/bin/python -m generator

clean:
	rm -rf $(VENV) $(DOCS_VENV) docs/_build out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python $(DOCS_VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	|| { echo "crawlsim needs Python >= 3.11; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

$(DOCS_VENV)/.installed: $(DOCS_VENV)/bin/python pyproject.toml constraints.txt
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test]'
	@touch $@
