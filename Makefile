# Every target sets itself up in .venv. Needs GNU make 3.81 or newer, a POSIX shell, Python 3.11 or newer.

.DEFAULT_GOAL := help
.PHONY: help race serve test check coverage chaos bench figures pins clean
.NOTPARALLEL:

BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)
export UV PYTHON

help:
	@echo "Turncoat: bandits whose best arm keeps changing."
	@echo
	@echo "  make race      run the default comparison: a leaderboard and a report; start here"
	@echo "  make serve     start the decision service, with its database and dashboard; Ctrl-C ends it"
	@echo "  make test      the checks, the whole suite compiled, and a smaller pass with the JIT off"
	@echo "  make check     ruff, mypy, import-linter and the architecture tests"
	@echo "  make coverage  the pass with the JIT off, and which lines it missed; counting makes it over twice as long"
	@echo "  make chaos     kill the decision service and its databases again and again, and count what was lost"
	@echo "  make bench     time the learners and the comparator, beside their peers"
	@echo "  make figures   draw the figures of the docs again"
	@echo "  make pins      resolve requirements/*.txt again after pyproject.toml changed (needs uv)"
	@echo "  make clean     remove .venv, caches and build outputs"
	@echo
	@echo "Whatever is missing is installed into .venv first, with uv where present and pip where not."
	@echo "  make race PYTHON=/path/to/python3.12      choose the Python that .venv is made with"
	@echo "  make race ARGS=--help                     hand words on (also to serve, chaos, bench; to pytest by test)"
	@echo "  make pins UPGRADE=1                       take the newest versions of everything"

# $(call timed,NAME,COMMANDS): run them up to the first that fails, and say how long that took.
define timed
@start=$$(date +%s); (set -e; $(2)); status=$$?; took=$$(($$(date +%s) - start)); \
if [ $$status -eq 0 ]; then echo "== $(1): done in $$took s"; else echo "== $(1): FAILED after $$took s"; fi; \
exit $$status
endef

# --- what the targets do ---

QUICK_CHECKS = \
	echo "-- ruff";          $(BIN)/python -m ruff check --quiet --output-format=concise .; \
	                         $(BIN)/python -m ruff format --check --quiet --output-format=concise .; \
	echo "-- import-linter"; $(BIN)/lint-imports --no-logo

TYPES = echo "-- mypy"; $(BIN)/python -m mypy

# Two passes at once, one a core, of about the same length. The second: types, a smaller pass with the JIT off, then the
# folders APART. What one has compiled the other finds on the disk.
APART = tests/cli tests/examples tests/experiments tests/racing tests/report tests/service tests/statistical tests/theory

SUITE = \
	echo "-- the suite, compiled"; \
	$(BIN)/python -m pytest -q $(APART:%=--ignore=%) $(ARGS)

JIT_OFF = NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m jit_off -p no:cacheprovider

SECOND = \
	status=0; \
	($(TYPES)) || status=$$?; \
	(echo "-- the smaller pass, JIT off"; $(JIT_OFF)) || status=$$?; \
	$(SYSTEM); \
	(echo "-- the rest of the suite, compiled: $(APART)"; \
	 $(BIN)/python -m pytest -q -p no:cacheprovider $(APART)) || status=$$?; \
	exit $$status

# A browser and PostgreSQL for the tests: only on a build machine, and only for root. Elsewhere those tests may skip.
SYSTEM = \
	if [ "$${CI:-}" = true ] && [ "$$(id -u)" = 0 ]; then sh tests/install_system.sh; fi

TESTS = \
	(set -e; $(SECOND)) >.venv/second.log 2>&1 & second=$$!; status=0; \
	($(SUITE)) || status=$$?; \
	wait $$second || status=$$?; \
	cat .venv/second.log; \
	exit $$status

FIGURES = \
	for script in docs/figures/*.py; do echo "-- $$script"; $(BIN)/python "$$script"; done

race: .venv/.race
	$(call timed,race,$(BIN)/turncoat race $(ARGS))

serve: .venv/.serve
	@$(BIN)/turncoat serve $(ARGS)

test: .venv/.dev
	$(call timed,test,$(QUICK_CHECKS); $(TESTS))

check: .venv/.dev
	$(call timed,check,$(QUICK_CHECKS); $(TYPES); echo "-- architecture"; $(BIN)/python -m pytest -q tests/architecture)

coverage: .venv/.dev
	$(call timed,coverage,$(JIT_OFF) --cov --cov-report=term)

chaos: .venv/.dev
	$(call timed,chaos,$(SYSTEM); $(BIN)/python -m tests.chaos $(ARGS))

bench: .venv/.bench
	$(call timed,bench,$(BIN)/python -m benchmarks $(ARGS))

figures: .venv/.race
	$(call timed,figures,$(FIGURES))

clean:
	rm -rf .venv .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist htmlcov
	find src tests benchmarks docs examples experiments -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up: once, and again when the pins or the metadata change. serve has race; dev and bench have both ---

.venv/.race: requirements/race.txt pyproject.toml
	@sh requirements/set-up.sh race
	@touch $@

.venv/.serve: requirements/serve.txt pyproject.toml
	@sh requirements/set-up.sh serve
	@touch .venv/.race $@

.venv/.dev: requirements/dev.txt pyproject.toml
	@sh requirements/set-up.sh dev
	@touch .venv/.race .venv/.serve $@

.venv/.bench: requirements/bench.txt pyproject.toml
	@sh requirements/set-up.sh bench
	@touch .venv/.race .venv/.serve $@

# --- pins: race first, then serve, then dev and bench, each with the versions before, so that all live in one .venv;
# a peer lives apart ---

PIN = $(or $(UV),$(wildcard $(BIN)/uv)) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command "make pins" $(if $(UPGRADE),--upgrade)
RACE = $(PIN) pyproject.toml --group build --extra race
SERVE = $(RACE) --extra serve --extra client --extra postgres

pins:
	@[ -n "$(or $(UV),$(wildcard $(BIN)/uv))" ] || { echo "make pins needs uv on the PATH"; exit 1; }
	$(RACE) --output-file requirements/race.txt
	$(SERVE) --constraint requirements/race.txt --output-file requirements/serve.txt
	$(SERVE) --group dev --constraint requirements/serve.txt --output-file requirements/dev.txt
	$(SERVE) --group bench --constraint requirements/dev.txt --output-file requirements/bench.txt
	$(PIN) requirements/smpybandits.in --output-file requirements/smpybandits.txt
