"""`python -m tongguocr.cli`, for launchers that start modules."""

import sys

from tongguocr.cli import main

sys.exit(main())
