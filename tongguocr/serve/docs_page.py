"""The page /docs: what /openapi.json says, as HTML that fetches nothing from anywhere.

The usual pages of this kind load scripts of a megabyte from other servers, which a server in a reading room
without a network cannot, and one that promises to contact nobody should not have its visitors do.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }
h2 { margin-top: 2em; border-top: 1px solid #8886; padding-top: 1em }
code { font-size: 0.95em } td { vertical-align: top; padding: 0.15em 1em 0.15em 0 }
.deep { padding-left: calc(1.5em * var(--deep)) } .small { opacity: 0.7 }
"""


def render_docs(api: dict[str, Any]) -> str:
    """The page for a service that OpenAPI describes so."""
    title = escape(f"{api['info']['title']} {api['info']['version']}")
    parts = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
        f"<meta name='viewport' content='width=device-width'><style>{STYLE}</style><h1>{title}</h1>"
        f"<p>{escape(api['info'].get('description', ''))}</p>"
        "<p>For programs: <a href='openapi.json'>openapi.json</a></p>"
    ]
    for address, methods in api["paths"].items():
        for method, operation in methods.items():
            parts.extend(_operation(method.upper(), address, operation))
    return "\n".join(parts) + "\n"


def _operation(method: str, address: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"<h2><code>{method} {escape(address)}</code></h2><p>{escape(operation.get('description', ''))}</p>"
    fields = {one["name"]: one["schema"] for one in operation.get("parameters", ())}
    if fields:
        yield "<h3>In the address</h3>" + _table(fields, ())
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"<h3>Body: <code>{escape(kind)}</code></h3>" + _schema(content["schema"])
    for status, answer in operation["responses"].items():
        kinds = ", ".join(answer.get("content", {}))
        yield f"<p><strong>{status}</strong> {escape(answer['description'])}"
        yield f" <span class='small'>{escape(kinds)}</span></p>"
        if status.startswith("2") and "application/json" in answer.get("content", {}):
            yield _schema(answer["content"]["application/json"]["schema"])


def _schema(schema: dict[str, Any]) -> str:
    if "properties" not in schema:
        return f"<p>{escape(schema.get('description', ''))}</p>"
    return _table(schema["properties"], schema.get("required", ()))


def _table(fields: dict[str, Any], required: tuple[str, ...]) -> str:
    return f"<table>{''.join(_rows(fields, required, 0))}</table>"


def _rows(fields: dict[str, Any], required: tuple[str, ...], deep: int) -> Iterator[str]:
    """A row a field, and below it those that it is made of."""
    for name, schema in fields.items():
        inner = schema.get("items", schema)
        notes = [schema.get("format", schema.get("type", "")), *(["needed"] if name in required else [])]
        if "enum" in schema:
            notes.append("one of " + ", ".join(map(str, schema["enum"])))
        if "default" in schema:
            notes.append(f"{schema['default']} if not given")
        about = f"{escape(schema['description'])} <span class='small'>{escape('; '.join(notes))}</span>"
        cell = f"<td class='deep' style='--deep:{deep}'><code>{escape(name)}</code></td>"
        yield f"<tr>{cell}<td>{about}</td></tr>"
        if "properties" in inner:
            yield from _rows(inner["properties"], inner.get("required", ()), deep + 1)
