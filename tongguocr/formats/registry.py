"""The table of formats: what each is called, how its files end, and which functions read and write it.

Whatever needs to know a format (the command line, jobs, the service, evaluation) looks here. A row names its
functions as "module:function" inside this package; they are imported when they are first used, so that the
table costs nothing to look at. To add a format: a module with a writer, a row here, a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tongguocr.errors import InputError
from tongguocr.files import open_whole
from tongguocr.formats.style import PAGE_SCHEMAS, Style

if TYPE_CHECKING:
    from tongguocr.page import Page


@dataclass(frozen=True, slots=True)
class Format:
    """One file format of pages."""

    name: str
    endings: tuple[str, ...]
    """Of file names; results have the first."""
    media_type: str
    writer: str
    """`(page, path) -> bytes`; a styled one also takes the style, one with `image="file"` the image."""
    styled: bool = False
    """Whether `Style.notes`, `Style.flow` and `Style.fold` change the file."""
    addressed: bool = False
    """Whether it names addresses, which lie below `Style.base_url`."""
    dated: bool = False
    """Whether a book says on which day it was made."""
    schemas: tuple[str, ...] = ()
    """Versions of its schema, of which the style chooses one; the writer takes it behind the path."""
    image: Literal["", "pixels", "file"] = ""
    """What a page must have: pixels; or its image file beside the written one, else pixels."""
    book: str = ""
    """`(pages, path) -> None`, for formats whose files can hold several pages; by what is set above, it also
    takes `style`, `day` and `images` by name."""
    in_pieces: bool = False
    """Whether `book` gives the file's bytes piece by piece instead, so that a page may be seen at once."""
    reader: str = ""
    """`(data, path) -> Page`, for formats that are read too; with `xml_root`, `(root, path) -> Page`."""
    xml_root: str = ""
    """The root element by which XML of this format is known."""
    boxes: bool = True
    """Whether lines that are read have their places."""
    aliases: tuple[str, ...] = ()
    """Other names, of earlier versions."""

    @property
    def ending(self) -> str:
        """What results have behind the page's name."""
        return self.endings[0]

    def render(self, page: Page, path: Path, style: Style = Style(), image: Path | None = None) -> bytes:
        """The page as a file's bytes; `path` is named in sentences of refusal, and images lie beside it.

        `image` is the page's image file where it lies elsewhere, for formats that take it as a file.
        """
        write = _function(self.writer)
        more: tuple[Any, ...] = ()
        if self.styled or self.addressed:
            more = (style,)
        elif self.schemas:
            more = (style.page_schema,)
        elif self.image == "file":
            more = (image,)
        data: bytes = write(page, path, *more)
        return data

    def parse(self, data: Any, path: Path) -> Page:
        """The page in a file's bytes, or of XML in its root element."""
        page: Page = _function(self.reader)(data, path)
        return page

    def write_book(
        self,
        pages: Iterable[Page],
        path: Path,
        images: Path | None = None,
        style: Style = Style(),
        day: date | None = None,
    ) -> None:
        """All the pages into one file, page by page, whole or not at all.

        `images` is where their images lie; `day` the day that the file names as its own, today unless given.
        """
        if not self.book:
            raise InputError(f"{path}: a file of the format {self.name} holds one page.")
        if self.in_pieces:
            with open_whole(path) as file:
                for piece in self.book_pieces(pages, style):
                    file.write(piece)
            return
        given: dict[str, Any] = {}
        if self.styled or self.addressed:
            given["style"] = style
        if self.dated:
            given["day"] = day
        if self.image == "file":
            given["images"] = images
        _function(self.book)(pages, path, **given)

    def book_pieces(self, pages: Iterable[Page], style: Style = Style()) -> Iterator[bytes]:
        """The book of a format that is `in_pieces`: a piece as soon as its page is there."""
        pieces: Iterator[bytes] = _function(self.book)(pages, style)
        return pieces


_ROWS = (
    # Those that are read too come first: of several files with one page, the first of these is taken.
    Format("json", (".json",), "application/json", "page_json:render_json", reader="page_json:parse_json"),
    Format(
        "page",
        (".page.xml", ".xml"),
        "application/xml",
        "page_xml_write:render_page_xml",
        schemas=PAGE_SCHEMAS,
        reader="page_xml_read:parse_page_xml",
        xml_root="PcGts",
    ),
    Format(
        "alto",
        (".alto.xml", ".alto"),
        "application/xml",
        "alto_write:render_alto",
        reader="alto_read:parse_alto",
        xml_root="alto",
    ),
    Format(
        "txt",
        (".txt",),
        "text/plain",
        "txt:render_txt",
        styled=True,
        book="txt:book_pieces",
        in_pieces=True,
        reader="txt:parse_txt",
        boxes=False,
        aliases=("text",),
    ),
    Format(
        "md",
        (".md",),
        "text/markdown",
        "markdown:render_markdown",
        styled=True,
        book="markdown:book_pieces",
        in_pieces=True,
        aliases=("markdown",),
    ),
    Format("hocr", (".hocr", ".html"), "text/html", "hocr:render_hocr"),
    Format(
        "tei",
        (".tei.xml", ".tei"),
        "application/xml",
        "tei:render_tei",
        dated=True,
        book="tei:write_tei_book",
    ),
    Format(
        "epub",
        (".epub",),
        "application/epub+zip",
        "epub:render_epub",
        styled=True,
        dated=True,
        book="epub:write_epub",
    ),
    Format(
        "iiif",
        (".manifest.json",),
        "application/ld+json",
        "iiif:render_manifest",
        addressed=True,
        book="iiif:write_manifest",
    ),
    Format(
        "pdf",
        (".pdf",),
        "application/pdf",
        "pdf:render_pdf",
        image="file",
        book="pdf:write_pdf",
    ),
    Format(
        "csv", (".csv",), "text/csv", "doubts:render_doubts", book="doubts:write_doubts", aliases=("doubts",)
    ),
    Format("overlay", (".overlay.png",), "image/png", "overlay:render_overlay", image="pixels"),
)
_OBEYED: dict[str, Callable[[Format], bool]] = {
    **dict.fromkeys(("notes", "flow", "fold"), lambda format: format.styled),
    "base_url": lambda format: format.addressed,
    "page_schema": lambda format: bool(format.schemas),
}
"""Of a style's fields those that some formats do not obey."""
FORMATS: dict[str, Format] = {row.name: row for row in _ROWS}
"""All formats by name."""
ENDINGS: dict[str, Format] = {ending: row for row in _ROWS for ending in row.endings}
"""All endings of file names; the longest that fits a name counts: `.alto.xml` is also `.xml`."""
READ_ENDINGS = tuple(ending for ending, row in ENDINGS.items() if row.reader)
"""The endings of files that hold pages, in the order in which they are preferred."""
LINE_ENDINGS = tuple(ending for ending, row in ENDINGS.items() if row.reader and row.boxes)
"""Those of files that also tell where lines stand."""


def find_format(name: str) -> Format:
    """The format of this name, or of this alias."""
    for row in _ROWS:
        if name == row.name or name in row.aliases:
            return row
    raise InputError(f"There is no format {name[:40]!r}; take one of {', '.join(FORMATS)}.")


def check_obeyed(option: str, obeys: Callable[[Format], bool], formats: Iterable[Format]) -> None:
    """Refuse an option that is given for files none of whose formats obeys it."""
    asked = list(formats)
    if not any(obeys(format) for format in asked):
        named = ", ".join(row.name for row in _ROWS if obeys(row))
        wanted = ", ".join(dict.fromkeys(row.name for row in asked))
        raise InputError(f"{option} is for {named}, and what is to be written is {wanted}.")


def check_style(style: Style, formats: Iterable[Format], spell: Callable[[str], str] = str) -> None:
    """Refuse what a style asks for if none of these formats obeys it.

    `spell` makes an option as it is typed of the name of a field.
    """
    usual, asked = Style(), list(formats)
    for name, obeys in _OBEYED.items():
        if getattr(style, name) != getattr(usual, name):
            check_obeyed(spell(name), obeys, asked)
    if style.doubtful != usual.doubtful and not style.min_confidence:
        one, other = spell("doubtful"), spell("min_confidence")
        raise InputError(f"{one} is for characters that {other} says are not sure: give it, too.")


def ending_of(path: Path) -> str:
    """The longest ending of a format that the file's name has; empty where it has none."""
    name = path.name.lower()
    return max((ending for ending in ENDINGS if name.endswith(ending)), key=len, default="")


def page_stem(path: Path) -> str:
    """The file's name without its ending: `p1` for `p1.alto.xml`."""
    ending = ending_of(path)
    return path.name[: -len(ending)] if ending else path.stem


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), function)
    return found
