# `make demo` and `make test` do all their own set-up: a virtual environment in .venv, packages from PyPI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test docs clean

# The demo needs the package alone; the tests need torch and the checkers too.
$(VENV)/.package: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

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
