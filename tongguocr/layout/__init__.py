"""A page's pixels to its lines, in reading order and with kinds.

detect     pixels -> lines, by our detector or another behind one interface
detection  that interface
tiling     what the network is shown: grey pictures at any scale, in tiles
peaks      the network's maps -> characters
link       characters -> lines
faint      lines that show through from the other side are dropped
rapidocr   RapidOCR's detector behind the same interface
frame      the page's writing mode, and its lines in one upright frame, whatever its slant and direction
rules      pixels -> the long straight rules that are drawn on the page
drawn      these in the upright frame: how much of a stretch they cover, and pieces put together
outside    what stands outside of the page's frame; strips.py: beside the text
leaves     where two half-leaves meet: the centre fold or a gutter
registers  a block's bands: registers, rows of a table, headings; and the gaps of verses that part nothing
notes      lines of one region in any order -> its columns and the double-row notes in them
order      lines in any order -> reading order and kinds, by all of these
columns    lines in reading order -> the column and row of each, which blocks and formats use
"""

from tongguocr.layout.frame import WritingMode
from tongguocr.layout.order import order_lines

__all__ = ["WritingMode", "order_lines"]
