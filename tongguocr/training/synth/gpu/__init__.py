"""The renderer on a GPU: packed compositions and a glyph atlas in, degraded images and character places out.

Plain torch operations, so it runs on a CPU as well, and the host never waits for the device.

pack        compositions as flat arrays, on the host
degradation a batch's degradation as tensors, drawn on the host
render      a batch's glyphs and all its ink (`paint`), and finished images (`render_batch`)
shapes      strokes, patches, marks
lines       real lines
shaping     forms of glyphs that stray from their outlines, for training
seals       seals pressed on images
warp        the page's bend
degrade     from ink to a degraded image
fields      noise, blur, resampling, JPEG
"""
