"""Lines as a detector finds them, in any order and without kinds, to lines in reading order with kinds."""

from tongguocr.layout.frame import Writing
from tongguocr.layout.order import order_lines

__all__ = ["Writing", "order_lines"]
