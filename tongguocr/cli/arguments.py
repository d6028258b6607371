"""The commands of `tongguocr`, one module for what belongs together: arguments in, one call into the package.

Each module has an `add` that tells the parser its commands. A command's work is imported inside it, so that
starting the program stays quick; it returns its exit code, or nothing for success.

reading    read
serving    serve
layout     lines, blocks
measuring  eval, compare
making     vocab, synth
training   train-data, train, export
full_size  expand, export-sft, ablate
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Subparsers = object
