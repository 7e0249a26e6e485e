# Set up, check and measure winnow; and the chain as pattern rules over build/.
#
#   make demo                    the whole chain on the example, without a key
#   make test                    everything that has to pass
#   make build/TASK.prompt.md    one task; TASKS=folder says where task folders lie

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

.PHONY: install demo test check format generated prompts clean bench bench-columns bench-model bench-linking train test-model fuzz

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

demo: install
	@$(W) scan examples/task_15 | $(W) vote | $(W) collapse | $(W) describe | $(W) prompt --text

test: install check
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/vulture
	$(BIN)/python tools/make_records.py --check
	$(BIN)/python tools/make_readme.py --check

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generated: install
	$(BIN)/python tools/make_records.py
	$(BIN)/ruff format --quiet stages/core/records.py
	$(BIN)/python tools/make_readme.py

# The chain. Each file is made from the one before it, so that touching one of them reruns
# only what follows; `make -k prompts` goes on with the others when a task fails.
prompts: $(patsubst $(TASKS)/%/,build/%.prompt.md,$(filter-out $(TASKS)/README%,$(wildcard $(TASKS)/*/)))

# Status 1 with lines written means that some answers are the safe ones: the chain goes on.
SAFE = || test $$? -eq 1 -a -s $@ -a $@ -nt $<

build:
	@mkdir -p build

build/%.scan.jsonl: $(TASKS)/% | build install
	$(W) scan $< -o $@ $(SAFE)

build/%.vote.jsonl: build/%.scan.jsonl
	$(W) vote $(MODEL_OPTIONS) $< -o $@ $(SAFE)

build/%.collapse.jsonl: build/%.vote.jsonl
	$(W) collapse $< -o $@ $(SAFE)

build/%.describe.jsonl: build/%.collapse.jsonl
	$(W) describe $< -o $@ $(SAFE)

build/%.prompt.md: build/%.describe.jsonl
	$(W) prompt --text $< -o $@

clean:
	rm -rf build

bench: install
	$(BIN)/python tools/bench_scan.py

bench-columns: install
	$(BIN)/python tools/bench_pruning.py --data $(DATA)

bench-model: install
	$(BIN)/python tools/bench_model.py

bench-linking: install
	$(BIN)/python tools/bench_linking.py --data $(DATA)

train: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group train
	$(BIN)/python tools/train.py --data $(DATA)

test-model: install
	$(BIN)/python tools/test_model.py --stages $(MODEL_STAGES)

SECONDS_OF_FUZZ ?= 600

fuzz: install
	$(BIN)/python -m tests.damage --seconds $(SECONDS_OF_FUZZ)
