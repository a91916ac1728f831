# tuneagent. `make advise` sets up and looks at this machine; `make test` sets up and checks the project.

SHELL := /bin/bash
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: help advise test lint unit test-vm test-lab smoke demo soak bench bench-lab golden wheel clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/: .*## /\t/' | expand -t 16

advise: $(VENV)/.run  ## set up what the tool needs and report on this machine; ARGS="--json" passes options on
	@$(BIN)/tuneagent advise $(ARGS)

test: $(VENV)/.test lint unit  ## set up what the tests need, check style and types, run the tests that need no virtual machine

lint: $(VENV)/.test  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: $(VENV)/.test  ## unit, golden and namespace tests with branch coverage
	$(BIN)/pytest -m "not vm and not lab" -n auto --dist loadfile --cov --cov-report=term $(ARGS)

test-vm: $(VENV)/.test  ## tests inside one emulated guest with four queues
	$(BIN)/pytest -m vm tests/vm $(ARGS)

test-lab: $(VENV)/.test  ## tests on a real nested KVM hypervisor and its guests
	$(BIN)/pytest -m lab tests/lab $(ARGS)

smoke: $(VENV)/.test  ## of those, the agent's own and what they rest on, on one kernel; at most 30 minutes once the images are made
	$(BIN)/pytest -m lab tests/lab/test_advise.py tests/lab/test_hypervisor.py tests/lab/test_both_sides.py \
	  tests/lab/test_apply_guest.py tests/lab/test_apply_hypervisor.py tests/lab/test_trials.py \
	  -k "not 6.12 and not guardian and not vhost_workers_leave and not emulator_is_pinned and not attribute_that \
  and not device_is_out and not over_the_socket and not ssh_is_kept and not for_the_next_start and not timer \
  and (not test_trials or killed)" --durations=10 $(ARGS)

demo: $(VENV)/.test  ## see it work: a hypervisor and a guest whose network is tuned badly on purpose; minutes
	@$(BIN)/python -m tests.lab.demo

soak: $(VENV)/.test  ## how dependable the lab is: 20 starts of domains in one run, with times
	@$(BIN)/python -m tests.lab.soak

bench: $(VENV)/.test  ## measure cost and write bench-HOST.json
	$(BIN)/python -m tests.bench $(ARGS)

bench-lab: $(VENV)/.test  ## what a sample costs on a real hypervisor, beside kvm_stat and virsh domstats; minutes
	@$(BIN)/python -m tests.lab.bench

golden: $(VENV)/.test  ## write the golden reports anew; read the difference before you commit it
	$(BIN)/pytest tests/golden --update-golden

wheel: $(VENV)/.test  ## the wheel, in dist/
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

$(VENV)/.run: pyproject.toml packaging/prepare
	@packaging/prepare run $(VENV)

$(VENV)/.test: pyproject.toml packaging/prepare
	@packaging/prepare test $(VENV)

clean:           ## remove what was built; the virtual environment too
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
