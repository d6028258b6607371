# `make demo` and `make test` do all their own set-up: a virtual environment in .venv, packages from PyPI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test docs clean

# The pip that comes with a Python may be years old: the newest finds its way among versions in half the time.
$(VENV)/.python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

# The demo needs the package alone; the tests need torch and the checkers too.
$(VENV)/.package: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

# Bytecode is written by all cores, and for every module: where PYTHONDONTWRITEBYTECODE is set each process of the
# tests would compile torch anew. The packages' own tests are left out, and files for other Pythons do no harm.
$(VENV)/.installed: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || true
	touch $(VENV)/.package $@

demo: $(VENV)/.package
	@mkdir -p out
	$(BIN)/tongguocr blocks examples/page.json -o out/blocks.json --picture out/blocks.png
	$(BIN)/tongguocr read examples/page.jpg

test: $(VENV)/.installed
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check

# The documentation as a site, in site/.
docs: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/zensical build --strict --config-file mkdocs.yml

clean:
	rm -rf $(VENV) out site
