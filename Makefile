# Two commands matter: `make demo` and `make test`. Everything they make is in .workbench/.

SHELL := /bin/bash
STATE := $(or $(WORKBENCH_STATE),.workbench)
VENV := $(STATE)/venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check -qq
PYTHON ?= python3
# A command with a database and a broker of its own, removed afterwards.
FRESH := $(BIN)/python -m config.stack services --fresh --
PYTEST := $(BIN)/python -m pytest -o cache_dir=$(STATE)/cache/pytest
export RUFF_CACHE_DIR := $(STATE)/cache/ruff
export MYPY_CACHE_DIR := $(STATE)/cache/mypy
export HYPOTHESIS_STORAGE_DIRECTORY := $(STATE)/cache/hypothesis

.PHONY: help env env-test demo test test-models check lint types contracts migrations recipes images bench clean

help:
	@echo "make demo         the whole stack on this machine, with examples (first time: ten to thirty minutes)"
	@echo "make test         lint, types, contracts, migrations, image recipes, and all tests but those on a real model"
	@echo "make test-models  the whole way on a real model, on the CPU"
	@echo "make bench        measurements, kept in benchmarks/results/"
	@echo "make images       runs the images' install steps in a clean environment"
	@echo "make clean        removes everything that these made"

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one with PYTHON=…"; exit 1; }
	@mkdir -p $(STATE)
	@$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv does not work here (on Debian: install python3-venv)"; exit 1; }
	@touch $@

$(VENV)/app: config/requirements/app.txt $(VENV)/made
	@echo "Making the application's environment (about a minute)"
	@flock $(STATE)/venv.lock $(PIP) install -r config/requirements/app.txt
	@touch $@

$(VENV)/test: config/requirements/test.txt $(VENV)/app
	@echo "Adding the test tools"
	@flock $(STATE)/venv.lock $(PIP) install -r config/requirements/test.txt
	@touch $@

env: $(VENV)/app
env-test: $(VENV)/test

demo: env
	@exec $(BIN)/python -m config.stack demo

test: check
	$(PYTEST) -m "not models"

test-models: env-test
	$(if $(LLM_BASE_URL),,$(BIN)/python -m config.stack model)
	$(PYTEST) -m models

check: lint types contracts migrations recipes

lint: env-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: env-test
	WORKBENCH_MODE=test DATABASE_URL=postgresql:///unused CELERY_BROKER_URL=redis://unused $(BIN)/mypy

contracts: env-test
	WORKBENCH_MODE=test DATABASE_URL=postgresql:///unused CELERY_BROKER_URL=redis://unused $(BIN)/lint-imports --cache-dir $(STATE)/cache/imports

migrations: env-test
	$(FRESH) $(BIN)/python manage.py makemigrations --check --dry-run

recipes: env-test
	BIN=$(BIN) bash docker/check.sh lint

images: recipes
	BIN=$(BIN) $(FRESH) bash docker/check.sh app

bench: env-test
	$(FRESH) $(BIN)/python -m benchmarks.engine
	$(FRESH) $(BIN)/python -m benchmarks.mining
	$(BIN)/python -m benchmarks.screening
	$(FRESH) $(BIN)/python -m benchmarks.review corpus
	$(FRESH) $(BIN)/python -m benchmarks.review tasks
	$(FRESH) $(BIN)/python -m benchmarks.transfers tasks
	$(FRESH) $(BIN)/python -m benchmarks.transfers large

clean:
	@[ ! -e $(STATE)/demo.lock ] || flock -n $(STATE)/demo.lock true || { echo "A demo is running on $(STATE): stop it first (Ctrl-C)"; exit 1; }
	@rm -rf $(STATE) && echo "Removed $(STATE)"
