"""TongGuOCR: OCR for Chinese historical documents. `read` reads a page, `read_all` the pages of a source."""

from tongguocr.api import read, read_all

__all__ = ["__version__", "read", "read_all"]
__version__ = "0.1.0"
