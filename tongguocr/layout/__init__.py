"""A page's pixels to its lines, in reading order and with kinds.

detect  pixels -> lines, by our detector or another behind one interface
looks   what the network is shown: grey pictures at any scale, in tiles
peaks   the network's maps -> characters
link    characters -> lines
peer    RapidOCR's detector behind the same interface
frame   lines in one upright frame, whatever the page's slant and direction
notes   columns and the double-row notes in them
order   lines in any order -> reading order and kinds
"""

from tongguocr.layout.frame import WritingMode
from tongguocr.layout.order import order_lines

__all__ = ["WritingMode", "order_lines"]
