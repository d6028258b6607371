"""The paper's tables 3 to 9, each by a command: data sets and weights in, figures beside the paper's out.

switches    both readings of what the paper leaves open
tables      the rows of each table: what each is trained and read with, and what the paper found
paper       the published figures of tables 3 and 4 (table3.tsv, table4.tsv)
families    the two kinds of model that a row may be of: GLM-OCR's class (glm_family), ours (small_family)
chain       stages that rows share, trained once
scored_pages  the pages of a test split, lost ones among them, and their lines
reading     what a row reads of them, kept page by page
systems     tables 3 and 4: our reader and others, from the scan to its text
score       kept text to figures
layout      figures as Markdown, LaTeX and CSV
needs       what a table needs, and what of it is missing, before anything is begun
run         one table from beginning to end

docs/reproduce.md is the page about it.
"""
