# Every target sets up what it needs: on a fresh clone `make demo` and `make test` just work.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
SLINGSHOT := .venv-slingshot
# For the JavaScript of the report: needed to change it, not to use it. Older ones count as none.
NPM := $(shell node -e 'process.exit(+(process.versions.node.split(".")[0] < 20))' 2> /dev/null && command -v npm)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo setup test test-uncompiled test-lowest lint format reproduce reproduce-quick bench bench-quick bench-selection bench-answers bench-imputation bench-conformal bench-dask bench-report report-pictures map web lint-web test-web clean

help:
	@echo "make demo         fit a tree to real data and draw it, in branchwise-demo/"
	@echo "make test         run every test of both projects; those of the page need Chromium and Node, and say so"
	@echo "make lint         check style and types"
	@echo "make web          build the report's JavaScript into src/branchwise/report/static (needs Node)"
	@echo "make map          draw the map of the package in CONTRIBUTING again"
	@echo "make setup        make .venv with every extra and the developers' tools"
	@echo "make format       rewrite the code in the project's style"
	@echo "make test-uncompiled  run the tests of the compiled loops as plain Python"
	@echo "make test-lowest  run the tests on the oldest supported versions"
	@echo "make reproduce    the paper's table and figures (an hour), into docs/reproduction.md"
	@echo "make reproduce-quick  a look at them (some minutes), into branchwise-reproduction-quick/"
	@echo "make bench        measure against other programs (an hour), into benchmarks/"
	@echo "make bench-quick  the same on small data (under five minutes)"
	@echo "make bench-selection  does select choose well? (half an hour), into benchmarks/selection.md"
	@echo "make bench-answers  what one gets without setting anything, beside other programs (an hour or two)"
	@echo "make bench-conformal  is p valid, and what does it find? (minutes), into benchmarks/conformal.md"
	@echo "make bench-imputation  missing values filled by the model and otherwise (minutes), into benchmarks/imputation.md"
	@echo "make bench-dask   time, memory and traffic on Dask (half an hour), into docs/scaling.md"
	@echo "make report-pictures  the README's pictures of the report (needs Chromium)"
	@echo "make bench-report  frame times, size and time of the report (minutes), into docs/report.md"
	@echo "make clean        remove everything that make made"

# The package with what the demo needs; editable, so that it is installed once.
$(VENV)/demo.stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --editable ".[cli]"
	@touch $@

# Both projects: branchwise, and the paper's reproduction in paper/.
$(VENV)/setup.stamp: $(VENV)/demo.stamp paper/pyproject.toml
	$(PIP) --editable ".[all]" --editable ./paper --group dev --group paper/pyproject.toml:oracles
	@touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/branchwise demo --out branchwise-demo

# The data sets lie in the folder that the environment variable BRANCHWISE_DATA names, or are fetched;
# their images are nobody's to give away, so that the page has dots in their place.
reproduce: $(VENV)/setup.stamp
	$(BIN)/branchwise reproduce all --no-images -o branchwise-reproduction
	mkdir -p docs/images/reproduction
	cp branchwise-reproduction/*.png docs/images/reproduction/
	sed -e 's#](\([a-z0-9_-]*\.png\))#](images/reproduction/\1)#' \
		-e 's#\[\([a-z0-9_-]*\.csv\)\]([a-z0-9_.-]*)#`\1`#' branchwise-reproduction/report.md > docs/reproduction.md

reproduce-quick: $(VENV)/setup.stamp
	$(BIN)/branchwise reproduce all --quick -o branchwise-reproduction-quick

setup: $(VENV)/setup.stamp

test: $(VENV)/setup.stamp
	$(BIN)/python -m pytest --numprocesses=auto
	cd paper && ../$(BIN)/python -m pytest --numprocesses=auto
ifdef NPM
	$(MAKE) test-web
else
	@echo "The JavaScript's unit tests were not run: Node 20 or later is not there, with npm; install it."
endif

web/node_modules/.stamp: web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

web: web/node_modules/.stamp
	cd web && npm run --silent build

# The picture of the layers, from the imports.
map: $(VENV)/setup.stamp
	$(BIN)/python -m tests.house

# The report's pictures in docs/images, of the demo's page in a browser.
report-pictures: $(VENV)/setup.stamp
	$(BIN)/python -m tests.browser.pictures

# Style, and whether the files that are shipped are what the sources give.
lint-web: web/node_modules/.stamp
	cd web && npm run --silent lint && npm run --silent check

test-web: web/node_modules/.stamp
	cd web && npm run --silent test

# What the compiler is given, run as plain Python: coverage and error messages see inside.
test-uncompiled: $(VENV)/setup.stamp
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --numprocesses=auto \
		tests/test_kdtree.py tests/graph tests/structures tests/solvers/test_ddrtree.py \
		tests/trajectory/test_branches.py \
		-k "not many_nodes and not algorithm_2 and not never_rises and not stated_error"
	cd paper && NUMBA_DISABLE_JIT=1 ../$(BIN)/python -m pytest --numprocesses=auto tests/baselines/test_smce.py

lint: $(VENV)/setup.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
ifdef NPM
	$(MAKE) lint-web
else
	@echo "The JavaScript was not checked: Node 20 or later is not there, with npm; install it."
endif

format: $(VENV)/setup.stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
ifdef NPM
	$(MAKE) web/node_modules/.stamp
	cd web && npm run --silent format
endif

# The lower bounds of both projects, each taken exactly.
test-lowest: $(VENV)/setup.stamp
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python tests/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --editable ".[all]" --editable ./paper --group test \
		--constraint .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pytest --numprocesses=auto
	cd paper && ../.venv-lowest/bin/python -m pytest --numprocesses=auto

# The programs compared with never come into the project's own environment.
$(BENCH)/bench.stamp: pyproject.toml
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BENCH)/bin/python -m pip install --quiet --editable ".[plot]" --group bench
	@touch $@

$(SLINGSHOT)/bench.stamp: pyproject.toml
	$(PYTHON) -m venv $(SLINGSHOT)
	$(SLINGSHOT)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(SLINGSHOT)/bin/python -m pip install --quiet --editable ".[trajectory]" --group bench-slingshot
	@touch $@

bench: $(BENCH)/bench.stamp
	$(BENCH)/bin/python benchmarks/run.py

bench-quick: $(BENCH)/bench.stamp
	$(BENCH)/bin/python benchmarks/run.py --quick

bench-selection: $(VENV)/demo.stamp
	$(BIN)/python benchmarks/selection.py

# The sets lie in the folder that BRANCHWISE_DATA names.
bench-answers: $(BENCH)/bench.stamp $(SLINGSHOT)/bench.stamp
	$(BENCH)/bin/python benchmarks/answers.py

# The sets lie in the folder that BRANCHWISE_DATA names.
bench-conformal: $(VENV)/demo.stamp
	$(BIN)/python benchmarks/conformal.py

bench-imputation: $(VENV)/setup.stamp
	$(BIN)/python benchmarks/imputation.py

bench-dask: $(VENV)/setup.stamp
	$(BIN)/python benchmarks/dask_scaling.py
	$(BIN)/python benchmarks/landmarks.py

bench-report: $(BENCH)/bench.stamp
	$(BENCH)/bin/python benchmarks/report.py

clean:
	rm -rf web/node_modules $(VENV) .venv-lowest $(BENCH) $(SLINGSHOT) benchmarks/results-quick branchwise-demo branchwise-reproduction branchwise-reproduction-quick .pytest_cache .mypy_cache .ruff_cache .hypothesis paper/.pytest_cache paper/.hypothesis
