"""XML in and out, safely: no entities, no network, no document type that defines anything.

Python's own parser and tree do: expat reads nothing but the bytes it is given, and is told to stop at the
first entity that a file defines.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree
from xml.parsers import expat

from tongguocr.errors import InputError

Element: TypeAlias = ElementTree.Element

DECLARATION = "<?xml version='1.0' encoding='UTF-8'?>\n"
DEEPEST = 200
"""No format nests elements deeper; a file that does means to do harm."""
_DECLARED = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']""")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_xml(data: bytes, path: Path) -> Element:
    """The root element, every name in it without its namespace: versions of a format differ only there."""
    try:
        data = _in_utf8(data)
        parser = expat.ParserCreate("utf-8" if data[:2] not in (b"\xff\xfe", b"\xfe\xff") else None, "}")
        builder = _listen(parser, path)
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, LookupError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"{path}: this is not well-formed XML{f' (line {line})' if line else ''}.") from None


def _in_utf8(data: bytes) -> bytes:
    """The file in UTF-8, whatever encoding it declares; UTF-16, told by its first bytes, stays."""
    declared = _DECLARED.match(data.removeprefix(b"\xef\xbb\xbf"))
    if declared is None or declared[1].lower() in (b"utf-8", b"utf8"):
        return data
    return data.decode(declared[1].decode()).encode()


def _listen(parser: expat.XMLParserType, path: Path) -> ElementTree.TreeBuilder:
    """Build a tree of what the parser reads; comments and processing instructions are passed over."""
    builder: ElementTree.TreeBuilder = ElementTree.TreeBuilder()
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        named = ((f"{{{key}" if "}" in key else key, value) for key, value in attributes.items())
        builder.start(_local(name), dict(named))

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_local(name))

    def refuse(*_: Any) -> None:
        raise InputError(f"{path}: the file defines XML entities, which are not read.")

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = parser.SkippedEntityHandler = refuse
    return builder


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def new_root(name: str, namespace: str, attributes: dict[str, str] | None = None) -> Element:
    """A root element whose namespace, and that of all below it, needs no prefix."""
    return ElementTree.Element(name, {"xmlns": namespace, **(attributes or {})})


def add(
    parent: Element, name: str, attributes: dict[str, str] | None = None, text: str | None = None
) -> Element:
    """A new last child."""
    element = ElementTree.SubElement(parent, name, attributes or {})
    element.text = text
    return element


def append_text(parent: Element, text: str) -> None:
    """Text at the end of an element, behind its last child where it has one."""
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def render_xml(root: Element) -> bytes:
    """The tree with a row for each element."""
    ElementTree.indent(root)
    return to_bytes(root)


def to_bytes(root: Element, doctype: str = "") -> bytes:
    """The tree as it is, with a declaration, and a document type where one is wanted."""
    return f"{DECLARATION}{doctype and doctype + chr(10)}{to_text(root)}\n".encode()


def to_text(element: Element) -> str:
    """The element as it is, for files that are written piece by piece."""
    body = ElementTree.tostring(element, encoding="unicode")
    # The tree's own writer leaves carriage returns in texts, and every reader would take them for line feeds.
    return body.replace("\r", "&#13;").replace(" />", "/>")


def content_of(element: Element) -> str:
    """What is inside of an element that has something in it and no attributes."""
    return to_text(element).removeprefix(f"<{element.tag}>").removesuffix(f"</{element.tag}>")


def check_xml_text(text: str, where: str) -> None:
    """Refuse what XML 1.0 cannot hold: control characters, noncharacters, halves of surrogate pairs."""
    if found := _NOT_XML.search(text):
        raise InputError(f"{where}: XML cannot hold the character U+{ord(found.group()):04X}.")


def fit_for_xml(text: str) -> str:
    """A name of a file as XML can hold it: `?` for what it cannot."""
    return _NOT_XML.sub("?", text)


def unique_name(name: str, taken: set[str]) -> str:
    """The name, or with a number where it is taken; it is taken from now on."""
    free, n = name, 1
    while free in taken:
        n += 1
        free = f"{name}_{n}"
    taken.add(free)
    return free
