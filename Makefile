# Every target sets up what it needs in .venv, so that a fresh clone needs nothing but Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What builds files of the package: when it changes, the package is installed again.
ASSETS := $(wildcard build_assets/*.py)

.PHONY: demo test check check-page docs campaign lowest clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml $(ASSETS) | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.tested: pyproject.toml $(ASSETS) | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,check]'
	touch $(VENV)/.installed $@

# Everything at once, which builds the package once.
$(VENV)/.complete: pyproject.toml $(ASSETS) | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,check,docs]'
	touch $(VENV)/.installed $(VENV)/.tested $(VENV)/.documented $@

# Free photographs (86 MB, fetched once), a few searches, and the page in a browser.
demo: $(VENV)/.installed
	$(BIN)/visterm demo

# Many tests wait for processes of their own, so one more than the cores run side by side.
test: $(VENV)/.tested
	$(BIN)/python -m pytest --dist worksteal --numprocesses \
	  $(shell $(PYTHON) -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')

check: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory check-page; \
	  else echo 'npm is missing: the scripts of the page are not checked'; fi

# The page's scripts; they run as they are written, so Node is needed for these checks only.
check-page: node_modules/.installed
	node_modules/.bin/eslint src/visterm/web/page
	node_modules/.bin/tsc

node_modules/.installed: package.json
	npm install --silent --no-audit --no-fund --no-package-lock
	touch $@

$(VENV)/.documented: pyproject.toml $(ASSETS) | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $(VENV)/.installed $@

# The site: site/index.html, or python -m http.server -d site, which lets its search work.
docs: $(VENV)/.documented
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Faults, kills, hostile files and a soak; takes hours, goes on where it was stopped, and writes the report of the docs.
# POINTS=3000 takes a sample of the fault points.
campaign: $(VENV)/.tested
	$(BIN)/python -m benchmarks.campaign --report docs/results/campaign.md $(if $(POINTS),--points $(POINTS)) --json

# The lowest versions that pyproject.toml names, in an environment of their own, and the tests that meet them most. Another Python with
# the newest: make lowest PYTHON=python3.13 RESOLUTION=highest
RESOLUTION ?= lowest-direct
LOWEST := artefacts/$(RESOLUTION)-$(notdir $(PYTHON))
EXTRAS := classic,research,phrases,heic,raw,encoders
MET := test_files.py text/test_query.py cli/test_collection_commands.py cli/test_quick_search.py collection/test_checks.py collection/search \
	collection/store index models/test_stored_samples.py models/test_selection.py faults/test_parsers.py features/cnn pictures/metadata calibration \
	web/test_api.py web/test_security.py

lowest: | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution $(RESOLUTION) -e '.[$(EXTRAS)]'
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python pytest hypothesis httpx onnx pyarrow
	$(LOWEST)/bin/python -m pytest -p no:cacheprovider $(addprefix tests/,$(MET))

clean:
	rm -rf $(VENV) dist build site demo artefacts .pytest_cache .mypy_cache .ruff_cache
	# Kernels that numba has kept name classes by their modules, and fail when those have moved.
	find src -name '*.nb[ic]' -delete
