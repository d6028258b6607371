"""`tongguocr convert`: pages in files in, the same pages in other formats out, without reading them again.

One page goes into a file whose ending says the format, several into one file of a format that holds a book,
or each into files of its own in a folder. What was corrected in JSON, PAGE or ALTO is corrected everywhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tongguocr.cli.arguments import (
    add_text,
    complain,
    is_file,
    is_folder,
    option,
    text_style,
    warn_of_fonts,
)
from tongguocr.cli.standard_output import STDOUT, check_several, write_several
from tongguocr.errors import InputError
from tongguocr.formats import (
    FORMATS,
    LINE_ENDINGS,
    Format,
    Style,
    check_obeyed,
    check_style,
    files_by_stem,
    find_format,
    format_of,
    page_stem,
    read_page,
    render_page,
    write_book,
    write_page,
)
from tongguocr.stdout import write_out

if TYPE_CHECKING:
    from tongguocr.formats.style import PageSchema
    from tongguocr.page import Page

PROGRAMS: dict[str, tuple[PageSchema, str]] = {
    "transkribus": ("2013-07-15", "page/{stem}.xml"),
    "escriptorium": ("2019-07-15", "{stem}.xml"),
    "larex": ("2019-07-15", "{stem}.xml"),
}
"""What programs take that read PAGE: the version of its schema, and where a page's file lies."""
HELP = "write pages that were read, and corrected, in other formats"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    read = [format.name for format in FORMATS.values() if format.reader and format.boxes]
    endings = ", ".join(format.ending for format in FORMATS.values())
    parser.add_argument("page", nargs="+", type=Path, metavar="PAGE", help="our JSON, PAGE, ALTO; a folder")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="a folder; - for standard output; a file: " + endings,
    )
    parser.add_argument("--format", metavar="F,...", help="where no ending says it: " + ", ".join(FORMATS))
    parser.add_argument("--image", type=Path, metavar="PATH", help="the page's image, or their folder")
    parser.add_argument(
        "--from", dest="source", choices=read, help="of several files with one page, this one (first: json)"
    )
    parser.add_argument(
        "--for",
        dest="program",
        choices=PROGRAMS,
        help="PAGE as this program takes it: its schema, and in a folder its name and place",
    )
    add_text(parser.add_argument_group("how text is written (docs/formats.md)"))


def run(args: argparse.Namespace) -> int:
    style, out = text_style(args), Path(args.output)
    if args.program:
        style = replace(style, page_schema=PROGRAMS[args.program][0])
    written = args.format or ("page" if args.program else "")
    if args.output == STDOUT:
        format = find_format(written or "txt")
        _check(args, [format], style)
        return _onto_standard_output(list(_page_files(args.page, args.source)), format, args.image, style)
    into_file = is_file(args.output, args.format)
    if into_file or not (args.format or is_folder(args.output)):
        _check(args, [format_of(out)], style)
        return _into_file(list(_page_files(args.page, args.source)), out, args.image, style)
    if not written:
        raise InputError(f"{out}: say with --format what goes into this folder.")
    formats = [find_format(name.strip()) for name in written.split(",")]
    _check(args, formats, style)
    paths = list(_page_files(args.page, args.source))
    return _into_folder(paths, _Places(out, formats, args.program), args.image, style)


def _check(args: argparse.Namespace, formats: list[Format], style: Style) -> None:
    """Refuse what would be asked for in vain."""
    if args.program:
        check_obeyed("--for", lambda format: bool(format.schemas), formats)
    if args.image:
        check_obeyed("--image", lambda format: bool(format.image), formats)
    if args.source and not any(path.is_dir() for path in args.page):
        raise InputError("--from is for folders, where a page may lie in several files; none is given.")
    check_style(style, formats, option)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the files of each page go."""

    out: Path
    formats: list[Format]
    program: str | None

    def of(self, path: Path) -> list[tuple[Format, Path]]:
        """The formats of one page, each with its file."""
        return [(format, self.out / self._name(format, page_stem(path))) for format in self.formats]

    def _name(self, format: Format, stem: str) -> str:
        if self.program and format.name == "page":
            return PROGRAMS[self.program][1].format(stem=stem)
        return f"{stem}{format.ending}"


def _page_files(given: list[Path], source: str | None) -> Iterator[Path]:
    """The files that are given, and one for each page of the folders, by name."""
    endings = FORMATS[source].endings if source else LINE_ENDINGS
    for path in given:
        if not path.is_dir():
            yield path
            continue
        found = files_by_stem(path, complain, endings)
        if not found:
            raise InputError(f"{path}: there is no page ({', '.join(endings)}) in this folder.")
        yield from (found[stem] for stem in sorted(found))


def _into_file(paths: list[Path], out: Path, image: Path | None, style: Style) -> int:
    format = format_of(out)
    warn_of_fonts([format.name])
    _keep_sources(paths, [out])
    if len(paths) == 1:
        page = read_page(paths[0])
        _write(page, paths[0], [(format, out)], image, style)
    else:
        write_book(_read_book(paths, format, image), out, format.name, style=style)
    return 0


def _read_book(paths: list[Path], format: Format, given: Path | None) -> Iterator[Page]:
    """The pages of a book, each with its pixels if the format needs them, wherever its image lies."""
    from tongguocr.formats.scan import with_scan

    for path in paths:
        page, image = _with_image(read_page(path), path, format, given)
        yield page if image is None else with_scan(page, image, path)


def _onto_standard_output(paths: list[Path], format: Format, image: Path | None, style: Style) -> int:
    """One page, or several as a book of them."""
    warn_of_fonts([format.name])
    if len(paths) > 1:
        check_several(format)
        write_several(_read_book(paths, format, image), format, style)
        return 0
    page, file = _with_image(read_page(paths[0]), paths[0], format, image)
    write_out(render_page(page, Path(page_stem(paths[0])), format.name, style, file))
    return 0


def _into_folder(paths: list[Path], places: _Places, image: Path | None, style: Style) -> int:
    """Each page into files of its own; 1 if some could not be converted."""
    from tongguocr.files import make_folder
    from tongguocr.progress import page_bar

    targets = [target for path in paths for _, target in places.of(path)]
    _keep_sources(paths, targets)
    _check_names(paths)
    for folder in dict.fromkeys(target.parent for target in targets):
        make_folder(folder)
    warn_of_fonts(format.name for format in places.formats)
    failed = 0
    with page_bar(len(paths)) as bar:
        for path in paths:
            try:
                _write(read_page(path), path, places.of(path), image, style)
            except InputError as error:
                if len(paths) == 1:
                    raise
                failed += 1
                bar.say(f"tongguocr: {error}")
            bar.step()
    return 1 if failed else 0


def _write(
    page: Page, path: Path, targets: list[tuple[Format, Path]], given: Path | None, style: Style
) -> None:
    """The page in all these formats; those that need its image come last: the others do not hang on it."""
    for format, target in sorted(targets, key=lambda pair: bool(pair[0].image)):
        page, image = _with_image(page, path, format, given)
        write_page(page, target, format.name, style, image)


def _with_image(page: Page, path: Path, format: Format, given: Path | None) -> tuple[Page, Path | None]:
    """The page with the pixels that the format needs, or its image file where that does as well."""
    if not format.image:
        return page, None
    from tongguocr.formats.scan import find_scan, with_scan
    from tongguocr.sources import is_one_image

    image = find_scan(page, path, given)
    if image is None:
        where = given or path.parent
        raise InputError(
            f"{path}: {format.name} needs the page's image, and {page.image!r} does not lie in {where};"
            " say where with --image."
        )
    if format.image == "file" and is_one_image(image):
        return page, image
    return page if page.pixels is not None else with_scan(page, image, path), None


def _keep_sources(paths: list[Path], targets: list[Path]) -> None:
    """Refuse to write over a file that is read: what we do not know of it would be lost."""
    read = {path.resolve() for path in paths}
    for target in targets:
        if target.resolve() in read:
            raise InputError(f"{target}: this file would be written over; choose another place.")


def _check_names(paths: list[Path]) -> None:
    """Refuse two pages whose files would have one name."""
    named: dict[str, Path] = {}
    for path in paths:
        other = named.setdefault(page_stem(path).casefold(), path)
        if other != path:
            raise InputError(f"{path}: its files would have the same names as those of {other}.")
