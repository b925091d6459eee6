# Planside: `make run` starts it, `make test` tests it, `.ci/run` is what CI runs.
.DEFAULT_GOAL := run

UV_VERSION := 0.13.8
BIN := .venv/bin
UV := .tools/bin/uv
INSTALL = $(UV) pip install --quiet --require-hashes --python $(BIN)/python
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate
LOCK = $(COMPILE) --generate-hashes pyproject.toml

.PHONY: run test nightly random lint real bench bench-drawing bench-browser bench-real bench-pages bench-visits old weight shape trace chaos histories lock lock-real messages fonts telemetry clean compare-pages axe firefox

run: .venv/.installed
	@exec $(BIN)/python manage.py serve

test: .venv/.dev
	@.ci/test

# What takes longer than a change may wait: before a release, and before an issue that touched it.
nightly: .venv/.dev
	@.ci/nightly

# All tests five times, each time in another order, beside two busy processes: what fails by chance.
random: .venv/.dev
	@.ci/random

lint: .venv/.dev
	@.ci/lint

# Against software of others: LiteLLM, transformers, aimock, the SDKs of OpenAI and Anthropic, MCP
# servers, published OpenAPI documents, generators of clients; then a table of what was shown. Each is
# installed once, from PyPI or npm (UV_*, PIP_FIND_LINKS and npm_config_* are passed on), and left out,
# with the reason, where it cannot be. Needs node with npx, git and, for one test, CHROMIUM.
real: .venv/.dev
	@PLANSIDE_REAL=1 CHROMIUM=$$(.ci/chromium) $(BIN)/python -m pytest -q -n 1 tests/real \
		tests/nightly/processes/test_mcp_peers.py tests/agents/test_oauth.py

# Speed, memory and weight of the live server; how pages grow with plans and conversations.
bench: .venv/.dev
	@$(BIN)/python -m tests.benchmarks

# What each page weighs, compressed, in both languages; a test holds them to 145 kB.
weight: .venv/.dev
	@$(BIN)/python -m pytest -q -s -p no:xdist tests/nightly/test_page_weight.py

# What hostile texts cost to draw, and how long another page waits meanwhile.
bench-drawing: .venv/.dev
	@$(BIN)/python -m tests.benchmarks.drawing

# Long conversations as a reader feels them: opening, and a long reply that comes in.
bench-browser: .venv/.dev
	@CHROMIUM=$${CHROMIUM:-$$(.ci/chromium)} $(BIN)/python -m tests.benchmarks.browser

# A real turn: processor time, turns a second, delay. OLD=<another checkout> is measured in turns
# with this one, ROUNDS times (10).
bench-real: .venv/.dev
	@$(BIN)/python -m tests.benchmarks.real_turn $(if $(OLD),--old $(OLD)) $(if $(ROUNDS),--rounds $(ROUNDS))

# Pages, a plan's change until open pages show it, and recording a folder, likewise.
bench-pages: .venv/.dev
	@$(BIN)/python -m tests.benchmarks.pages $(if $(OLD),--old $(OLD)) $(if $(ROUNDS),--rounds $(ROUNDS))

# First, second and later visits in Chromium, likewise.
bench-visits: .venv/.dev
	@CHROMIUM=$${CHROMIUM:-$$(.ci/chromium)} $(BIN)/python -m tests.benchmarks.visits --only SQLite \
		$(if $(OLD),--old $(OLD)) $(if $(ROUNDS),--rounds $(ROUNDS))

# The commit that figures are held against, beside this folder, with an environment of its own.
old: ../planside-a8f3ff6/.venv/.installed

../planside-a8f3ff6/.venv/.installed:
	@test -e ../planside-a8f3ff6/Makefile || git worktree add --detach ../planside-a8f3ff6 a8f3ff6
	@$(MAKE) -C ../planside-a8f3ff6 .venv/.dev

# How big the product is, how its functions, imports and templates look.
shape: .venv/.dev
	@$(BIN)/python -m tests.benchmarks.shape

# What one "hello" passes through: files, functions, SQL statements.
trace: .venv/.dev
	@$(BIN)/python -m tests.benchmarks.trace

# A hundred kills -9 at random moments, on SQLite and on PostgreSQL; then the account.
chaos: .venv/.dev
	@$(BIN)/python -m tests.nightly.chaos

# Random histories of changes and undos, and what must never happen in one; ROOT is another checkout.
histories: .venv/.dev
	@$(BIN)/python -m tests.nightly.histories --seeds $(or $(SEEDS),60) --first $(or $(FIRST),0) \
		$(if $(ROOT),--root $(ROOT)) $(if $(POSTGRES),--postgres) $(if $(SHOW),--show)

# Whether every page is as it was at a commit: elements, words, names for screen readers, pictures.
compare-pages: .venv/.dev
	@CHROMIUM=$$(.ci/chromium) $(BIN)/python -m tests.nightly.browser.states.compare_pages since $(OLD) \
		$(if $(RENAMED),--renamed $(RENAMED))

# Every state, page, dialog and menu in five widths and three looks: what axe finds, what is cut off.
# ONLY="menus agents", WIDTHS="390 1440" and LANGUAGE=zh-CN narrow it.
axe: .venv/.dev
	@CHROMIUM=$$(.ci/chromium) $(BIN)/python -m tests.nightly.browser.states.sweep $(if $(ONLY),--only $(ONLY)) \
		$(if $(WIDTHS),--widths $(WIDTHS)) $(if $(LANGUAGE),--language $(LANGUAGE))

# The main job in Firefox as it is shipped. FIREFOX is its path, TESTS are other browser tests.
FIREFOX ?= $(shell command -v firefox-esr || command -v firefox)
TESTS ?= main_job
firefox: .venv/.dev
	@FIREFOX=$(FIREFOX) $(BIN)/python -m pytest -q -n 0 -m browser \
		$(TESTS:%=tests/browser/test_%.py)

# Both steps are skipped while their lock files are older than the stamps.
.venv/.installed: requirements/services.txt | $(BIN)/python
	@echo "Installing Planside's packages …"
	@$(INSTALL) -r requirements/services.txt
	@touch $@

.venv/.dev: requirements/dev.txt .venv/.installed
	@$(INSTALL) -r requirements/dev.txt
	@touch $@

# What installs is not among what runs.
$(BIN)/python: | $(UV)
	@$(UV) venv --quiet --python .tools/bin/python .venv

$(UV):
	@python=$$(.ci/python) && $$python -m venv .tools
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# The typefaces under static/vendor again, from their makers' packages on npm: after another version
# of one is named in .ci/fonts.py, or another character is wanted.
fonts: $(UV)
	@$(UV) run --quiet --no-project --with "fonttools[woff]==4.68.0" .ci/fonts.py

# The catalogs of translated texts, brought up to what code, templates and scripts say.
messages: .venv/.dev
	@$(BIN)/python -m tests.messages

# Run after editing the dependencies in pyproject.toml: writes the versions and hashes everybody then
# installs. Each file is whole by itself; the smaller ones are held to the versions of the largest.
lock: $(UV)
	@$(LOCK) --all-extras -o requirements/dev.txt
	@$(LOCK) --extra services --extra telemetry -c requirements/dev.txt -o requirements/telemetry.txt
	@$(LOCK) --extra services -c requirements/dev.txt -o requirements/services.txt

# The same for the software of others in `make real`: tests/real/requirements/*.in.
lock-real: $(UV)
	@for file in tests/real/requirements/*.in; do UV_FIND_LINKS=$$PIP_FIND_LINKS \
		$(COMPILE) $$file -o $${file%.in}.txt; done

# OpenTelemetry, for those who set OTEL_EXPORTER_OTLP_ENDPOINT.
telemetry: .venv/.installed requirements/telemetry.txt
	@$(INSTALL) -r requirements/telemetry.txt

clean:
	@rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis test-results
