"""Synthetic historical pages: one composer, two renderers.

text         where the words come from: real columns, plain text, character lists
fonts        faces in a folder, which one a page takes, glyphs in their em box
outlines     which characters a font file really draws
atlas        all glyphs as packed bits, for the GPU
composition  what a page is before ink: glyphs in their em boxes, rules, marks, lines in reading order
compose      a page of a named kind, from text and a face
leaf         the half-leaf that most layouts share
kinds        the layouts themselves
paint        a composition as a colour image, on the CPU; in this order it calls on
ink          glyphs, rules and marks before degradation
weight       stand-in faces made as heavy as the page's own
impression   what block, brush and pressure make of the ink
paper        the sheet: texture, stains, worm holes, the other side's ink
seals        owners' seals
surroundings table, ruler, colour chart, facing page
camera       the page bent, lit, filmed and compressed
degradation         what time and the camera do to a page, as plain numbers for both renderers
warp         the camera's geometry, for pixels and labels
fields       smooth random fields
gpu/         thousands of training blocks a second from a glyph atlas (needs torch)
real_ink     real line images: their ink, their characters' places, what is held out
real_blocks  such lines side by side as blocks, for the GPU path (needs torch)
export       pages and labels as files: JSON, PAGE, and the shapes of MTHv2 and M5HisDoc
command      `tongguocr synth`: an order of pages, and the frozen benchmark
"""
