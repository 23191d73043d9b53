# make run    sets everything up and opens the app          (EXTRAS= leaves the built-in model's gigabyte out)
# make test   sets up and runs the tests
# make lint   checks style, types and the direction of imports
# make chaos [N=200] [SEED=1]      kill -9 at random moments of loads and turns, and a look at what is left
# make load [VISITORS=50] [TURNS=2000] [MINUTES=30]  many visitors at two app processes; the figures are the last line
# make bench CASES=FILE OUT=FILE [AGAINST=plain,llamaindex]    a turn here and elsewhere; hours with the built-in model
# make load-bench [PAGE=TITLE]    loading a page beside Chroma's own add
# make lock                       the locks anew, and whether they are whole on each system and Python
# make screenshots OUT=DIR        each page, light and dark, wide and narrow
# make scale                      a full library beside an empty one
# make measure-app                how long a page takes, and what watching an answer takes of the processor
PYTHON ?= python3
EXTRAS ?= builtin
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(PYTHON) -I persona/setup/install.py --venv "$(VENV)" $(EXTRAS)

.PHONY: install develop run test lint load bench load-bench scale measure-app lock lock-check chaos screenshots

# says nothing where there is nothing to do
install:
	@$(INSTALL)

develop:
	@$(INSTALL) dev

run: install
	$(BIN)/persona app

# WORKERS share the tests; `pytest` alone runs them one by one
WORKERS ?= 2
test: develop
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder

# kills loads and turns N times at random moments and looks at what is left; the figures are the last line
N ?= 200
SEED ?= 1
chaos: develop
	PYTHONPATH=. $(BIN)/python -m tests.chaos --kills $(N) --seed $(SEED)

VISITORS ?= 50
TURNS ?= 2000
MINUTES ?= 30
load: develop
	PYTHONPATH=. $(BIN)/python -m tests.bench.load --visitors $(VISITORS) --turns $(TURNS) --minutes $(MINUTES)

lint: develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# What the plain pipeline comes to on a page of 35,000 characters in 23 sections; for another, set what is right there or nothing.
PLAIN_CALLS ?= 11-13
PLAIN_TOKENS ?= 4500-5700
AGAINST ?= plain,llamaindex
bench: develop
	@test -n "$(CASES)" -a -n "$(OUT)" || { echo "Name the cases and the report: make bench CASES=cases.jsonl OUT=report.json"; exit 2; }
	$(BIN)/python -m tests.bench "$(CASES)" "$(OUT)" --against "$(AGAINST)" --plain-calls "$(PLAIN_CALLS)" --plain-tokens "$(PLAIN_TOKENS)" $(if $(SERVER),--server "$(SERVER)")

load-bench: develop
	$(BIN)/python -m tests.bench.loading $(if $(PAGE),"$(PAGE)")

scale: develop
	$(BIN)/python -m tests.bench.scale

measure-app: develop
	$(BIN)/python -m tests.bench.app

screenshots: develop
	@test -n "$(OUT)" || { echo "Say where to: make screenshots OUT=DIR"; exit 1; }
	PYTHONPATH=. $(BIN)/python -m tests.screenshots --out "$(OUT)"

# The locks anew; pins that are there stay: delete a line, or a lock, for newer ones. The extras stay in them, so that a newer
# pip alone can install them, too; pip and the build's own needs are pinned with the rest.
UV := $(VENV)-uv/bin/uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-strip-extras --no-emit-index-url --no-annotate --no-header
EXTRA = $(PYTHON) -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['$(1)'], sep='\n')"
LOCKS := requirements.lock requirements-builtin.lock requirements-dev.lock
lock: $(UV)
	printf 'editables\nhatchling\npip\n' | $(COMPILE) pyproject.toml - --output-file requirements.lock
	$(call EXTRA,builtin) | $(COMPILE) - --output-file requirements-builtin.lock --constraint requirements.lock
	$(call EXTRA,dev) | $(COMPILE) - --output-file requirements-dev.lock --constraint requirements.lock
	$(MAKE) lock-check

# Whether the locks hold all that their packages ask for, as wheels, on each system and Python
lock-check: $(UV)
	@set -e; for system in x86_64-manylinux_2_28 aarch64-manylinux_2_28 aarch64-apple-darwin x86_64-pc-windows-msvc; do \
	  for python in 3.11 3.12 3.13 3.14; do echo "$$system, Python $$python"; \
	    MACOSX_DEPLOYMENT_TARGET=14.0 $(UV) pip install --quiet --dry-run --require-hashes --only-binary :all: --target $(VENV)-uv/none \
	      --python-platform $$system --python-version $$python $(addprefix --requirement ,$(LOCKS)); done; done

$(UV):
	$(PYTHON) -m venv $(VENV)-uv
	$(VENV)-uv/bin/python -m pip --disable-pip-version-check install uv
