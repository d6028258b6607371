"""`python -m tongguocr`: the same as the program `tongguocr`."""

import sys

from tongguocr.cli import main

sys.exit(main())
