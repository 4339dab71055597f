# What a person types. `make run` needs nothing but Python 3.11 or newer, and make.

PYTHON ?=
VENV := .venv
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test conformance check bench soak demo clean

help:
	@echo "make run    install what is needed, start everything, stop it with Ctrl-C"
	@echo "make demo   the same against a stand-in for Ollama, with a few prompts"
	@echo "make test   all tests (ARGS='-k words')      make check   what CI runs besides them"
	@echo "make conformance   the clients people use, directly and through Festinger: nothing may differ"
	@echo "make soak   ten thousand requests of each bad kind (ARGS='--requests 1000'): does the server keep anything?"
	@echo "make bench  measure on this machine          make clean   remove what make made, but no data"

# exec: the launcher itself is make's child, so that a signal to make reaches it.
run: $(VENV)/installed
	@exec $(VENV)/bin/python -m festinger_site.launch

demo: $(VENV)/installed
	@exec $(VENV)/bin/python manage.py demo $(ARGS)

test: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m pytest $(ARGS)

conformance: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m pytest tests/conformance $(ARGS)

bench: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m benchmarks $(ARGS)

soak: $(VENV)/installed-dev
	@exec $(VENV)/bin/python -m benchmarks.soak $(ARGS)

check: $(VENV)/installed-dev
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m ruff format --check .
	$(VENV)/bin/python -m mypy .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python -W ignore manage.py makemigrations --check --dry-run

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Touched last: an interrupted install is done again.
$(VENV)/installed: requirements.txt
	@$(find_python); $(make_venv)
	@echo "Installing what Festinger runs on (a minute or two, once) ..."
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(VENV)/installed-dev: requirements-dev.txt $(VENV)/installed
	@echo "Installing what tests and checks need ..."
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

define find_python
for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
done; \
test "$$python" || { echo "Festinger needs Python 3.11 or newer; name one with: make run PYTHON=/path/to/python3"; exit 1; }
endef

define make_venv
$(VENV)/bin/python -m pip --version >/dev/null 2>&1 || "$$python" -m venv $(VENV) || \
	{ echo "No virtual environment could be made; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
endef
