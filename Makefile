# Every target sets itself up in .venv. Needs GNU make 3.81 or newer, a POSIX shell, Python 3.11 or newer.

.DEFAULT_GOAL := help
.PHONY: help race serve quick test test-all oldest check coverage chaos bench figures generated pins clean
.NOTPARALLEL:

BIN := .venv/bin
UV := $(shell command -v uv 2>/dev/null)
export UV PYTHON

# Tests start a hundred Python processes. Keep byte code, even where the environment says not to: rewriting the
# assertions of all tests takes six seconds per process.
PYTHONDONTWRITEBYTECODE :=
export PYTHONDONTWRITEBYTECODE

help:
	@echo "Turncoat: bandits whose best arm keeps changing."
	@echo
	@echo "  make race      run the default comparison: a leaderboard and a report; start here"
	@echo "  make serve     start the decision service, with its database and dashboard; Ctrl-C ends it"
	@echo "  make quick     ruff, import-linter, and all tests but long games, services and browsers"
	@echo "  make test      what CI runs: the checks, the suite compiled, and a smaller pass with the JIT off"
	@echo "  make test-all  the same with every case: more kills, seeds and long games"
	@echo "  make oldest    the quick tests with the lowest versions allowed, in .venv-oldest (Python 3.11 to 3.13)"
	@echo "  make check     ruff, mypy, import-linter and the architecture tests"
	@echo "  make coverage  the pass with the JIT off, and which lines it missed; counting makes it over twice as long"
	@echo "  make chaos     kill the decision service and its databases again and again, and count what was lost"
	@echo "  make bench     time the learners and the comparator, beside their peers"
	@echo "  make figures   draw the figures of the docs again"
	@echo "  make generated write what follows from the learners' classes: exports, the docs' tables, golden arms"
	@echo "  make pins      resolve requirements/*.txt again after pyproject.toml changed (needs uv)"
	@echo "  make clean     remove .venv, caches and build outputs"
	@echo
	@echo "Whatever is missing is installed into .venv first, with uv where present and pip where not."
	@echo "  make race PYTHON=/path/to/python3.12      choose the Python that .venv is made with"
	@echo "  make race ARGS=--help                     hand words on (also to serve, chaos, bench; to pytest by the tests)"
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

# Work sharing: two processes claim test files one by one, from both ends of the list, until they meet (conftest.py).
# What one has compiled the other finds on disk. A third process runs commands beside them: tests that wait for a
# database or a server leave it a core. $(call shared,PYTHON,PYTEST'S WORDS,BEFORE THE SECOND PROCESS,IN THE THIRD)
define shared
claims=$$(mktemp -d); trap 'rm -rf $$claims' INT; \
(status=0; $(or $(4),:); exit $$status) >$$claims.third 2>&1 & third=$$!; \
(status=0; $(or $(3),:); \
 $(1) -m pytest -q -p no:cacheprovider --share=$$claims --from-the-end $(2) $(ARGS) || status=$$?; \
 exit $$status) >$$claims.log 2>&1 & second=$$!; status=0; \
$(1) -m pytest -q --share=$$claims $(2) $(ARGS) || status=$$?; \
wait $$second || status=$$?; wait $$third || status=$$?; \
echo "-- the other processes"; cat $$claims.third $$claims.log; rm -rf $$claims $$claims.third $$claims.log; \
exit $$status
endef

# Markers (pyproject.toml) say what a test needs.
QUICK = -m "not (service or browser or slow or exhaustive)"
MOST = -m "not exhaustive"

JIT_OFF = NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -p no:cacheprovider

# A browser and PostgreSQL for the tests: only on a build machine, and only for root. Elsewhere those tests may skip.
SYSTEM = if [ "$${CI:-}" = true ] && [ "$$(id -u)" = 0 ]; then sh tests/install_system.sh; fi

# The third process of `make test`: the types and the pass with the JIT off. $(call beside,WHICH TESTS)
define beside
	($(TYPES)) || status=$$?; \
	(echo "-- the pass with the JIT off"; $(JIT_OFF) -m "$(1)") || status=$$?
endef

FIGURES = \
	for script in docs/figures/*.py; do echo "-- $$script"; $(BIN)/python "$$script"; done

GENERATED = \
	$(BIN)/python -m tests.architecture.exports; \
	$(BIN)/python docs/learners/tables.py; \
	$(BIN)/python -m tests.golden

race: .venv/.race
	$(call timed,race,$(BIN)/turncoat race $(ARGS))

serve: .venv/.serve
	@$(BIN)/turncoat serve $(ARGS)

quick: .venv/.dev
	$(call timed,quick,$(QUICK_CHECKS); echo "-- the quick tests"; $(call shared,$(BIN)/python,$(QUICK)))

test: .venv/.dev
	$(call timed,test,$(QUICK_CHECKS); echo "-- the suite"; $(call shared,$(BIN)/python,$(MOST),$(SYSTEM),$(call beside,jit_off and not exhaustive)))

test-all: export TURNCOAT_EVERY_CASE := 1
test-all: .venv/.dev
	$(call timed,test-all,$(QUICK_CHECKS); echo "-- every test"; $(call shared,$(BIN)/python,,$(SYSTEM),$(call beside,jit_off)))

oldest: .venv-oldest/.oldest
	$(call timed,oldest,echo "-- the quick tests with the lowest versions allowed"; \
		$(call shared,.venv-oldest/bin/python,$(QUICK)))

check: .venv/.dev
	$(call timed,check,$(QUICK_CHECKS); $(TYPES); echo "-- architecture"; $(BIN)/python -m pytest -q tests/architecture)

coverage: .venv/.dev
	$(call timed,coverage,$(JIT_OFF) -m jit_off --cov --cov-report=term)

chaos: .venv/.dev
	$(call timed,chaos,$(SYSTEM); $(BIN)/python -m tests.chaos $(ARGS))

bench: .venv/.bench
	$(call timed,bench,$(BIN)/python -m benchmarks $(ARGS))

figures: .venv/.serve
	$(call timed,figures,$(FIGURES))

generated: .venv/.dev
	$(call timed,generated,$(GENERATED))

clean:
	rm -rf .venv .venv-oldest .coverage .hypothesis .*_cache build dist htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

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

.venv-oldest/.oldest: requirements/oldest.txt pyproject.toml
	@sh requirements/set-up.sh oldest .venv-oldest
	@touch $@

# --- pins: race first, then serve, then dev and bench, each with the versions before, so that all live in one .venv;
# a peer lives apart, and so do the lowest versions allowed: what is declared at its lowest, then the newest test tools
# that go with it ---

PIN = $(or $(UV),$(wildcard $(BIN)/uv)) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-strip-extras --custom-compile-command "make pins" $(if $(UPGRADE),--upgrade)
RACE = $(PIN) pyproject.toml --group build --extra race
SERVE = $(RACE) --extra serve --extra client --extra postgres

pins:
	@[ -n "$(or $(UV),$(wildcard $(BIN)/uv))" ] || { echo "make pins needs uv on the PATH"; exit 1; }
	$(RACE) --output-file requirements/race.txt
	$(SERVE) --constraint requirements/race.txt --output-file requirements/serve.txt
	$(SERVE) --group dev --constraint requirements/serve.txt --output-file requirements/dev.txt
	$(SERVE) --group bench --constraint requirements/dev.txt --output-file requirements/bench.txt
	$(PIN) requirements/smpybandits.in --output-file requirements/smpybandits.txt
	$(SERVE) --resolution lowest-direct --output-file .lowest.txt
	$(SERVE) --group test --constraint .lowest.txt --output-file requirements/oldest.txt; \
		status=$$?; rm .lowest.txt; exit $$status
