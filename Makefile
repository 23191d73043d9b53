# make run    sets everything up and opens the app          (EXTRAS= leaves the built-in model's gigabyte out)
# make test   sets up and runs the tests
# make lint   checks style, types and the direction of imports
# make chaos [N=200] [SEED=1]      kill -9 at random moments of loads and turns, and a look at what is left
# make load [VISITORS=50] [TURNS=2000] [MINUTES=30]  many visitors at two app processes; the figures are the last line
# make bench CASES=FILE OUT=FILE [AGAINST=plain,llamaindex]    a turn here and elsewhere; hours with the built-in model
# make load-bench [PAGE=TITLE]    loading a page beside Chroma's own add
# make screenshots OUT=DIR        each page, light and dark, wide and narrow
# make scale                      a full library beside an empty one
# make measure-app                how long a page takes, and what watching an answer takes of the processor
PYTHON ?= python3
EXTRAS ?= builtin
VENV := .venv
BIN := $(VENV)/bin
LOCKS := requirements.lock $(if $(EXTRAS),requirements-$(EXTRAS).lock)
INSTALLED := $(VENV)/.installed-$(if $(EXTRAS),$(EXTRAS),plain)
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: install run test lint load bench load-bench scale measure-app lock chaos screenshots

install: $(INSTALLED)

$(INSTALLED): pyproject.toml $(LOCKS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "persona needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' || { echo "This Python makes no virtual environments; on Debian install python3-venv."; exit 1; }
# an environment without pip was broken off while it was made
	$(PIP) --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --quiet --require-hashes $(addprefix -r ,$(LOCKS))
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.installed-dev: $(INSTALLED) requirements-dev.lock
	$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	touch $@

run: install
	$(BIN)/persona prepare
	$(BIN)/streamlit run app.py

# WORKERS share the tests; `pytest` alone runs them one by one
WORKERS ?= 2
test: $(VENV)/.installed-dev
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder

# kills loads and turns N times at random moments and looks at what is left; the figures are the last line
N ?= 200
SEED ?= 1
chaos: $(VENV)/.installed-dev
	PYTHONPATH=. $(BIN)/python -m tests.chaos --kills $(N) --seed $(SEED)

VISITORS ?= 50
TURNS ?= 2000
MINUTES ?= 30
load: $(VENV)/.installed-dev
	PYTHONPATH=. $(BIN)/python -m tests.bench.load --visitors $(VISITORS) --turns $(TURNS) --minutes $(MINUTES)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What the plain pipeline comes to on a page of 35,000 characters in 23 sections; for another, set what is right there or nothing.
PLAIN_CALLS ?= 11-13
PLAIN_TOKENS ?= 4500-5700
AGAINST ?= plain,llamaindex
bench: $(VENV)/.installed-dev
	@test -n "$(CASES)" -a -n "$(OUT)" || { echo "Name the cases and the report: make bench CASES=cases.jsonl OUT=report.json"; exit 2; }
	$(BIN)/python -m tests.bench "$(CASES)" "$(OUT)" --against "$(AGAINST)" --plain-calls "$(PLAIN_CALLS)" --plain-tokens "$(PLAIN_TOKENS)" $(if $(SERVER),--server "$(SERVER)")

load-bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.bench.loading $(if $(PAGE),"$(PAGE)")

scale: $(VENV)/.installed-dev
	$(BIN)/python -m tests.bench.scale

measure-app: $(VENV)/.installed-dev
	$(BIN)/python -m tests.bench.app

screenshots: $(VENV)/.installed-dev
	@test -n "$(OUT)" || { echo "Say where to: make screenshots OUT=DIR"; exit 1; }
	PYTHONPATH=. $(BIN)/python -m tests.screenshots --out "$(OUT)"

# New pins, with uv. The build's own needs are pinned too, so that the project installs without fetching anything else.
COMPILE := uv pip compile --universal --generate-hashes --no-emit-index-url --no-annotate --no-header --python-version 3.11 --quiet
EXTRA = $(PYTHON) -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['$(1)'], sep='\n')"
lock:
	printf 'editables\nhatchling\n' | $(COMPILE) pyproject.toml - --output-file requirements.lock
	$(call EXTRA,builtin) | $(COMPILE) - --output-file requirements-builtin.lock --constraint requirements.lock
	$(call EXTRA,dev) | $(COMPILE) - --output-file requirements-dev.lock --constraint requirements.lock
