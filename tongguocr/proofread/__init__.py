"""Proofreading in the browser: a book's pages out, corrections in, none ever lost (docs/proofread.md).

models     what browser and server say to each other: the one source, TypeScript's types are made of it
page_data  a page as the browser has it, and back
edits      an edit, applied to a page
journal    the append-only file of a page's edits, on the disk before an answer
book       which pages a book has, and where its files lie
store      each page's state: replayed, edited, told apart when two edit one line
overview   a few words about every page, without keeping it in memory
output     the files that are written from the state; exports
changes    what was changed, as a table
search     text of the whole book
pictures   scans, tiles and thumbnails
reading    pages that are read in the background
events     what happens, to all who listen
proofreading  all of this, put together for one book
guard      who may ask, and from where
app        the addresses
openapi    their description, of which the types of TypeScript are made
run        a socket, a process, and its end

Nothing is imported here: training reads a book's marks without the packages that serving needs.
"""
