"""XML in and out, safely: no entities, no network, no document type that defines anything."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

from lxml import etree

from tongguocr.errors import InputError

Element = etree._Element


def parse_xml(data: bytes, path: Path) -> Element:
    """The root element, every name in it without its namespace: versions of a format differ only there."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"{path}: this is not well-formed XML{f' (line {line})' if line else ''}.") from None
    _refuse_entities(root, path)
    for element in root.iter(etree.Element):
        element.tag = etree.QName(element).localname
    return root


def _refuse_entities(root: Element, path: Path) -> None:
    """Entities can swell a file without bound or pull in other files, and no page needs them."""
    document_type = root.getroottree().docinfo.internalDTD
    # The stubs do not know the method.
    if document_type is not None and any(True for _ in document_type.iterentities()):  # type: ignore[attr-defined]
        raise InputError(f"{path}: the file defines XML entities, which are not read.")


def new_root(name: str, namespace: str, attributes: dict[str, str] | None = None) -> Element:
    """A root element whose namespace needs no prefix."""
    return etree.Element(
        f"{{{namespace}}}{name}", attributes or {}, nsmap=cast(dict[str, str], {None: namespace})
    )


def add(
    parent: Element, name: str, attributes: dict[str, str] | None = None, text: str | None = None
) -> Element:
    """A new last child in its parent's namespace."""
    element = etree.SubElement(parent, f"{{{etree.QName(parent).namespace}}}{name}", attributes or {})
    element.text = text
    return element


def render_xml(root: Element) -> bytes:
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)


def join_words(words: Iterable[str]) -> str:
    """Words as one text: a space between them, but none beside an ideograph or another wide character."""
    text = ""
    for word in filter(None, words):
        if text and not any(
            c.isspace() or unicodedata.east_asian_width(c) in "WF" for c in (text[-1], word[0])
        ):
            text += " "
        text += word
    return text


def is_one_character(text: str) -> bool:
    """One character with whatever variation selectors and combining marks follow it."""
    return len(text) > 0 and not any(unicodedata.category(c) not in ("Mn", "Me", "Mc") for c in text[1:])


def reading_order(owners: Sequence[Sequence[str]], references: Sequence[str]) -> list[int]:
    """The lines' places in reading order.

    `owners` gives, for every line in the file's own order, the ids of the line and of all that encloses it,
    innermost first; `references` the ids that the file's reading order names. A line goes where the
    innermost of its owners that is named goes; lines that nothing names follow at the end.
    """
    place: dict[str, int] = {}
    for reference in references:
        place.setdefault(reference, len(place))

    def key(index: int) -> tuple[int, int]:
        named = (place[owner] for owner in owners[index] if owner in place)
        return next(named, len(place)), index

    return sorted(range(len(owners)), key=key)
