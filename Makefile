# Every target sets up what it needs in .venv (once) and says what this machine lacks. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# The first of these that runs; a name in PATH may be a shim without an interpreter behind it.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && exit; done; echo python3)
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
PY := $(BIN)/python
STAMPS := $(VENV)/.cellmill
PANEL := kernel_runtime/cellmill/labextension/package.json
SHARE := share/jupyter/labextensions/cellmill
C_SOURCES := $(wildcard csched/include/*.h csched/src/*.[ch] csched/lab/*.[ch] csched/python/*.[ch] csched/build.py) hatch_build.py
TS_SOURCES := $(shell find labextension/src -name "*.ts") $(wildcard labextension/style/* labextension/schema/* labextension/*.cjs examples/0[12]_*.ipynb) tsconfig.json
EXTRAS := dask,docking,export,joblib,lab,parsl,proxies,ray,report,sweep,top,dashboard,test,dev
LAB_PIN := $(if $(LAB),"jupyterlab==$(LAB).*")
export PATH := $(BIN):$(PATH)
export PYTHONPATH := examples
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo lab test test-long test-lab check fix bench bench-live pictures clean distclean
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'

setup: $(STAMPS)/python $(STAMPS)/csched $(STAMPS)/panel ## make the environment in .venv (the other targets do this themselves)

demo: setup ## run the docking notebook and leave its results in build/demo/
	@$(PY) -m docking demo

lab: setup ## open JupyterLab on the docking notebook
	@$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) examples/02_docking_inference.ipynb

test: setup $(STAMPS)/chromium ## every check and test but the long ones (about 10 minutes on two cores); SUITES="c python" picks some
	@$(PY) scripts/run_tests.py $(SUITES)

test-long: setup $(STAMPS)/chromium ## the tests that are too slow for `make test`: ten minutes of everything at once, faults at scale
	@$(PY) scripts/run_tests.py c-long long

test-lab: ## the panel's tests in another JupyterLab, in an environment of its own: make test-lab LAB=4.4
	@test -n "$(LAB)" || { echo "give a version: make test-lab LAB=4.4"; exit 2; }
	@$(MAKE) test VENV=build/lab-$(LAB) SUITES=browser

check: setup ## linters, formatters and types of all three languages
	@$(PY) scripts/check.py

fix: setup ## apply what the formatters and linters can mend themselves
	@$(PY) scripts/check.py --fix

bench: setup ## every figure wanted and reached, beside the rivals that are installed (minutes)
	@$(PY) -m benchmarks figures

bench-live: setup $(STAMPS)/chromium ## what it costs to watch a million tasks in JupyterLab, and how soon panel and buttons answer (minutes)
	@$(PY) -m pytest -q -s tests/browser/live.py tests/browser/control.py tests/browser/start.py

pictures: setup $(STAMPS)/chromium ## take the screenshots in docs/images anew
	@$(PY) -m pytest -q tests/browser/pictures.py

clean: ## remove what was built, keep the environment
	@rm -rf build dist labextension/lib kernel_runtime/cellmill/labextension widgets/cellmill_widgets/static tsconfig.tsbuildinfo
	@rm -f kernel_runtime/cellmill/*.so benchmarks/*.so $(STAMPS)/csched $(STAMPS)/panel
	@if [ -f csched/Makefile ]; then $(MAKE) -C csched clean; fi

distclean: clean ## remove the environment as well
	@rm -rf $(VENV) node_modules

$(VENV)/bin/pip:
	@scripts/need.sh python $(PYTHON)
	@echo "set-up: making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)

# uv installs in a quarter of pip's time; pip knows how to use what a machine's pip.conf says.
$(STAMPS)/python: pyproject.toml | $(VENV)/bin/pip
	@scripts/need.sh compiler $(PY)
	@echo "set-up: installing Cellmill and its tools into $(VENV) (minutes, the first time)"
	@mkdir -p $(@D)
	@$(PY) -m pip install --quiet uv
	@export CELLMILL_SKIP_JS=1; $(BIN)/uv pip install --quiet --python $(PY) -e ".[$(EXTRAS)]" $(LAB_PIN) || \
		{ echo "set-up: uv cannot install them (above); pip tries"; $(PY) -m pip install --quiet -e ".[$(EXTRAS)]" $(LAB_PIN); }
	@touch $@

$(STAMPS)/csched: $(C_SOURCES) | $(STAMPS)/python
	@scripts/need.sh compiler $(PY)
	@echo "set-up: compiling csched"
	@mkdir -p build && { $(PY) hatch_build.py > build/csched.log 2>&1 || { tail -n 40 build/csched.log; exit 1; }; }
	@touch $@

$(STAMPS)/node_modules: package.json yarn.lock .yarnrc.yml | $(STAMPS)/python
	@scripts/need.sh node
	@echo "set-up: installing the panel's build tools into node_modules (minutes, the first time)"
	@mkdir -p build && { $(BIN)/jlpm install --immutable > build/jlpm.log 2>&1 || { tail -n 20 build/jlpm.log; exit 1; }; }
	@touch $@

# A copy, not a link: pip empties the folder when it installs anew, through a link as well.
$(STAMPS)/panel: $(TS_SOURCES) $(STAMPS)/node_modules $(STAMPS)/python
	@echo "set-up: building the JupyterLab panel"
	@mkdir -p build && { $(BIN)/jlpm run build > build/panel.log 2>&1 || { tail -n 40 build/panel.log; exit 1; }; }
	@rm -rf $(VENV)/$(SHARE) && mkdir -p $(VENV)/$(dir $(SHARE))
	@cp -r $(dir $(PANEL)) $(VENV)/$(SHARE) && cp labextension/install.json $(VENV)/$(SHARE)
	@touch $@

$(STAMPS)/chromium: | $(STAMPS)/python
	@scripts/need.sh chromium
	@touch $@
