# make demo       sets up and runs the main job     make lint    ruff, mypy and the layers
# make quick      the inner loop: a minute          make format  ruff's formatter and fixes
# make test       sets up and runs the tests        make docs    builds the documentation in site/
# make test-wide  what CI runs: within an hour     make test-full  everything: hours
# Everything lands in .venv. PYTHON chooses the interpreter (3.11 or later), ARGS is handed to pytest or to the demo.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist loadfile
APT := DEBIAN_FRONTEND=noninteractive apt-get

.PHONY: help demo quick test test-wide test-full lint format docs chromium frontend clean
.DEFAULT_GOAL := help

help:
	@head -n 5 $(MAKEFILE_LIST) | cut -c 3-

demo: $(VENV)/.package
	$(BIN)/python -m tltrace_nb.demo $(ARGS)

# Data, analyses, texts and views, the magics and the command line, and of the compiler and the virtual GPU what needs few builds.
QUICK := $(addprefix tests/,test_layers.py test_import.py test_cli.py analysis widget/test_lanes.py widget/test_text.py widget/test_views.py \
	$(addprefix core/test_,slots.py sites.py words.py chosen.py clock.py rows.py trace_file.py decode.py capacity.py kept.py switch.py \
	refusals.py transplant.py upstream.py) simulator/test_costs.py simulator/test_machine.py simulator/test_fragments.py)

quick: $(VENV)/.dev
	$(PYTEST) $(QUICK) $(ARGS)

test: lint chromium frontend
	$(PYTEST) $(ARGS)

test-wide: lint chromium frontend
	$(PYTEST) -m "not full" $(ARGS)

test-full: lint chromium frontend
	$(PYTEST) -m "full or not full" $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache | tail -n 4

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The bundle in the package is committed; with npm its sources are checked too: types, format, unit tests, freshness.
frontend:
	@if command -v npm >/dev/null; then npm ci --prefix frontend --no-fund --no-audit --loglevel=error; \
	else echo "npm is not installed: the front end's own tests will be skipped"; fi

docs: $(VENV)/.package
	$(PIP) install --constraint constraints.txt --editable '.[docs]'
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) frontend/node_modules frontend/build

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is missing or older than 3.11; say which to use: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' || { [ "$$(id -u)" = 0 ] && $(APT) update -qq && $(APT) install -qq -y python3-venv; } || { \
		echo "$(PYTHON) cannot make environments; install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.package: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/.package

# The browser tests drive a real Chromium, through a driver that needs libatomic, and pictures have text, which needs a font.
# Without these, and without the right to install them, those tests are skipped.
chromium:
	@{ command -v chromium && ls /usr/share/fonts/truetype && ls /usr/lib/*/libatomic.so.1; } >/dev/null 2>&1 || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		$(APT) update -qq && $(APT) install -qq -y --no-install-recommends chromium fonts-dejavu-core libatomic1; \
	else echo "chromium, a font or libatomic is missing: tests of browsers and pictures may be skipped"; fi
