"""TongGuOCR: OCR for Chinese historical documents."""

__version__ = "0.1.0"
