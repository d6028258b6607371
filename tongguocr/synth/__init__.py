"""Synthetic historical pages: one composer, two renderers.

text         where the words come from: real columns, plain text, character lists
fonts        faces in a folder, which characters each really draws
composition  what a page is before ink: glyphs in their em boxes, rules, marks, lines in reading order
compose      a page of a named kind, from text and a face
kinds        the layouts themselves
paint        a composition as a colour image, on the CPU
wear         what time and the camera do to it
gpu          thousands of training blocks a second from a glyph atlas (needs torch)
real_ink     real line images set side by side as blocks (for the GPU path)
"""
