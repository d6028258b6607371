"""The header of a TEI document: the names of images in; its title, source, language, program and date out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from tongguocr.formats.xml import Element, add
from tongguocr.version import __version__

LANGUAGE = "lzh"
"""Literary Chinese."""
PROGRAM_ID = "tongguocr"
"""By this id `resp` points at the statement that the program is responsible."""
HOME = "https://github.com/tongguocr/tongguocr"
MANY = 5
"""The images of more pages are named by the first and the last."""


def write_header(root: Element, images: Sequence[str], pages: int, created: date) -> None:
    """Add the header to a TEI document of so many pages, whose images have these names."""
    day = f"{created:%Y-%m-%d}"
    header = add(root, "teiHeader", {"xml:lang": "en"})
    description = add(header, "fileDesc")
    statement = add(description, "titleStmt")
    add(statement, "title", text=images[0] if len(images) == 1 else f"Transcription of {pages} pages")
    responsible = add(statement, "respStmt", {"xml:id": PROGRAM_ID})
    add(responsible, "resp", text="text recognition")
    add(responsible, "name", text=f"TongGuOCR {__version__}")
    published = add(add(description, "publicationStmt"), "p", text="Unpublished: written by a program on ")
    add(published, "date", {"when": day}, day).tail = "."
    add(add(description, "sourceDesc"), "p", text=_source(images))
    _write_program(add(header, "encodingDesc"), day)
    language = {"ident": LANGUAGE}
    add(add(add(header, "profileDesc"), "langUsage"), "language", language, "Literary Chinese")
    change = {"when": day, "who": f"#{PROGRAM_ID}"}
    add(add(header, "revisionDesc"), "change", change, f"Written by TongGuOCR {__version__}.")


def _source(images: Sequence[str]) -> str:
    """What the text was read from."""
    if not images:
        return "Read from images without a name."
    if len(images) > MANY and len(set(images)) > 1:
        return f"Read from {len(images)} images, {images[0]} to {images[-1]}."
    return f"Read from {', '.join(dict.fromkeys(images))}."


def _write_program(encoding: Element, day: str) -> None:
    program = {"ident": "TongGuOCR", "version": __version__, "when": day}
    application = add(add(encoding, "appInfo"), "application", program)
    add(application, "label", text="TongGuOCR")
    add(application, "desc", text="OCR for Chinese historical documents; what it found doubtful is unclear.")
    add(application, "ptr", {"target": HOME})
