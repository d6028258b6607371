"""TongGuOCR: OCR for Chinese historical documents. `read` reads a page, `read_all` the pages of a source."""

from tongguocr.api import read, read_all
from tongguocr.version import __version__

__all__ = ["__version__", "read", "read_all"]
