"""Synthetic historical pages: one composer, two renderers.

Composing:
text         where the words come from: real columns, plain text, character lists
fonts        faces in a folder, which one a page takes, glyphs in their em box
outlines     which characters a font file really draws
composition  what a page is before ink: glyphs in their em boxes, rules, marks, lines in reading order
page_builder what layouts are made with: a page under construction, its style, columns of text
half_leaf    the half-leaf, and the layouts that are one
kinds        the table of page kinds, all other layouts, and a page of any kind

Painting on the CPU, in this order:
degradation  what block, time and camera do to a page, as plain numbers for both renderers
paint        a composition as a colour image
ink          glyphs, rules and marks before degradation
impression   what block, brush and pressure make of the ink
paper        the sheet: texture, stains, worm holes, the other side's ink
seals        owners' seals, cut for both renderers and the detector
camera       the page bent, lit, filmed and compressed
surroundings table, ruler, colour chart, facing page
warp         the camera's geometry, for pixels and labels
fields       smooth random fields

Training blocks, thousands a second:
atlas        all glyphs as packed bits
gpu/         the renderer on a GPU (needs torch)
line_cuts    the ink of line images, and where their characters are
real_ink     line images read and stored; what is held out
line_pieces  pieces of real lines, for lines that no book has
real_blocks  real lines side by side as blocks, for the GPU renderer (needs torch)

Files:
export       pages and labels as files: JSON, PAGE, and the shapes of MTHv2 and M5HisDoc
generate     pages into a folder, and the frozen benchmark: what `tongguocr synth` does
"""
