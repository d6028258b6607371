"""Scores of transcriptions: pages in, the paper's eight figures out, with the protocol's name (section 4.2).

files        two files or folders, matched by the pages' names: `evaluate`
protocols    paper, mcs, omnidoc, strict: `score_lines`
normalise    what of a text is scored
metrics      AR, CR, NED, inventory, BLEU, from counts
order        RO-ED
occurrences  added and other characters apart
report       the figures of all pages, as JSON and as tables
compare      engines side by side

The character alignment (`tongguocr.alignment`) and graphic variants (`tongguocr.variants`) lie below.
"""
