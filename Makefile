# Set up, check and measure winnow; and the chain as pattern rules over build/.
#
#   make demo                    the whole chain on the example, without a key
#   make test                    everything that has to pass, with the tools that it needs
#   make check                   ruff, mypy, import rules, dead code, generated files
#   make generated               rewrite what is generated: records, help in the documents
#   make format                  ruff's fixes and layout
#   make install, make dev       winnow in .venv; with the tools for tests and checks
#   make prompts                 every task below TASKS, into build/
#   make build/TASK.prompt.md    one task; TASKS=folder says where task folders lie
#   make clean                   remove build/
#   make bench                   time scan; bench-columns, bench-linking, bench-model measure
#   make bench-prepare           tables of documents beside markitdown, pdfplumber, liteparse
#   make train                   train the judge's weights; DATA=folder holds benchmarks
#   make test-model              one real model; make fuzz  damaged input, for SECONDS_OF_FUZZ
#   make help                    this list
#
# Names of files cannot hold a space in make: one in the name of a task folder is ␣ in build/.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
.DELETE_ON_ERROR:
.SECONDARY:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
W := $(BIN)/winnow
TASKS ?= examples
DATA ?= ../shared/data
MODEL_OPTIONS ?=
MODEL_STAGES ?= vote,collapse,describe,prompt

PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help install dev demo test check format generated prompts clean bench bench-columns bench-model bench-linking bench-prepare train test-model fuzz

install: $(VENV)/.installed

help:
	@sed -n 's/^#   //p' $(firstword $(MAKEFILE_LIST))

$(VENV)/.installed: pyproject.toml
	@echo "installing winnow and the libraries it runs on into $(VENV)/; this takes a minute or two, once" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade 'pip>=25.1'
	@$(PIP) --editable '.[pdf]'
	@touch $@

dev: $(VENV)/.developed

$(VENV)/.developed: $(VENV)/.installed pyproject.toml
	@echo "installing the tools for tests and checks into $(VENV)/: pytest, mypy, ruff and others" >&2
	@$(PIP) --editable '.[pdf]' --group dev
	@touch $@

demo: install
	@$(W) scan examples/orders | $(W) vote --recall 0.97 | $(W) collapse | $(W) describe | $(W) prompt --text
	@printf '%s\n' '' 'That was the prompt for examples/orders. To go on:' \
	  '  . $(BIN)/activate                     puts winnow on the path; bin/winnow does without' \
	  '  winnow scan examples/orders > scan.jsonl' \
	  '  winnow vote scan.jsonl | winnow show      what was kept, and how' \
	  '  winnow --help                             every command' >&2

test: dev check
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/vulture
	$(BIN)/python tools/make/records.py --check
	$(BIN)/python tools/make/pages.py --check
	$(BIN)/python tools/make/pictures.py --check

format: dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generated: dev
	$(BIN)/python tools/make/records.py
	$(BIN)/ruff format --quiet stages/core/records.py
	$(BIN)/python tools/make/pages.py
	$(BIN)/python tools/make/pictures.py

# The chain. Each file is made from the one before it, so that touching one of them reruns
# only what follows; `make -k prompts` goes on with the others when a task fails.
FOLDERS := $(shell cd '$(TASKS)' 2>/dev/null && ls -d */ 2>/dev/null | grep -v '^README' | sed 's|/$$||; s| |␣|g')
SPACE := $(subst ,, )

prompts: $(FOLDERS:%=build/%.prompt.md)

# Status 1 with lines written means that some answers are the safe ones: the chain goes on.
SAFE = || test $$? -eq 1 -a -s $@ -a $@ -nt "$<"

build:
	@mkdir -p build

.SECONDEXPANSION:
build/%.scan.jsonl: $$(subst $$(SPACE),\ ,$$(subst ␣, ,$$(TASKS)/$$*)) | build install
	$(W) scan "$<" -o $@ $(SAFE)

build/%.vote.jsonl: build/%.scan.jsonl
	$(W) vote $(MODEL_OPTIONS) $< -o $@ $(SAFE)

build/%.collapse.jsonl: build/%.vote.jsonl
	$(W) collapse $< -o $@ $(SAFE)

build/%.describe.jsonl: build/%.collapse.jsonl
	$(W) describe $< -o $@ $(SAFE)

build/%.prompt.md: build/%.describe.jsonl
	$(W) prompt --text $< -o $@
	@test '$@' = '$(subst ␣, ,$@)' || ln -f '$@' '$(subst ␣, ,$@)'

clean:
	rm -rf build

bench: dev
	$(BIN)/python tools/bench/scan.py

bench-columns: dev
	$(BIN)/python tools/bench/pruning.py --data $(DATA)

bench-model: dev
	$(BIN)/python tools/bench/model.py

bench-linking: dev
	$(BIN)/python tools/bench/linking.py --data $(DATA)

bench-prepare: dev
	$(PIP) --group bench
	$(BIN)/python tools/bench/documents.py

train: dev
	$(PIP) --group train
	$(BIN)/python tools/train/fit.py --data $(DATA)

test-model: dev
	$(BIN)/python tools/bench/real_model.py --stages $(MODEL_STAGES)

SECONDS_OF_FUZZ ?= 600

fuzz: install
	$(BIN)/python -m tests.helpers.damage --seconds $(SECONDS_OF_FUZZ)
	$(BIN)/python -m tests.helpers.damage_files --seconds $(SECONDS_OF_FUZZ)
