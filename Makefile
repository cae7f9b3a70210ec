# Stable entry points. Each brings its own environment: a fresh machine needs python3.11, venv, make and g++.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(shell cksum < pyproject.toml | cut -d' ' -f1)

.PHONY: env demo up test check audit system

env: $(STAMP)

$(STAMP): pyproject.toml
	@command -v g++ >/dev/null || { echo "g++ is missing. Type: apt-get install -y g++"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { echo "Python 3.11 to 3.13 is needed. Type: apt-get install -y python3.11 python3.11-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "venv is missing. Type: apt-get install -y python3-venv"; exit 1; }
	$(BIN)/pip install -q --disable-pip-version-check -e '.[web,device,dev]'
	@rm -f $(VENV)/.installed-*
	@touch $@

demo: env
	$(BIN)/python manage.py demo

up: env
	$(BIN)/python manage.py up

# chromium and PostgreSQL for the tests, where this machine lets us install them.
system: env
	$(BIN)/python tests/system_packages.py

# Arguments may leave a part without a test, which pytest calls an error of number 5.
NARROWED = $(if $(PYTEST_ARGS),|| [ $$? -eq 5 ])

# Without the exhaustive ones (`python -m pytest -m exhaustive`): half an hour on two cores.
test: system
	$(BIN)/python -m pytest -m "not exhaustive and not alone and not patient and not filler and not measuring" -n 2 --dist loadfile $(PYTEST_ARGS) $(NARROWED)
	$(BIN)/python tests/gaps.py $(PYTEST_ARGS)

# Asks the network for news of known holes; what it finds belongs into kernelsite/ops/dependency_floors.txt.
audit: env
	$(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/pip install -q --disable-pip-version-check pip-audit
	$(VENV)/audit/bin/pip-audit --path $$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')

check: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	KERNELSITE_PRODUCTION_CHECK=1 KERNELSITE_SITE_URL=https://kernels.example $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python manage.py vendor_assets --check
	$(BIN)/pip check
	$(BIN)/python manage.py check_dependencies
