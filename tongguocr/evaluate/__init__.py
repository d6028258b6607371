"""Scores of transcriptions: pages in, the paper's eight figures out, with the protocol's name.

files       two files or folders, matched by stem: `evaluate`
protocols   paper, mcs, omnidoc, strict: `score_lines`
normalise   what of a text is scored
align       the character alignment; needs nothing but Python, training uses it too
text        AR, CR, NED, inventory, BLEU
order       RO-ED
occurrences added and other characters apart
variants    graphic variants taken for one
"""
