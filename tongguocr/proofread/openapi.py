"""The addresses described, as `openapi-typescript` wants it: `python -m tongguocr.proofread.openapi`.

No book is opened: the addresses and the models are the same for every book.
"""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic import TypeAdapter

from tongguocr.proofread.app import make_app
from tongguocr.proofread.models import Event
from tongguocr.proofread.proofreading import Proofreading


def openapi() -> dict[str, Any]:
    """The description, with the events, which no address shows whole."""
    # Routes are only described here: none is called, so nobody asks the book anything.
    described = make_app(cast(Proofreading, None)).openapi()
    described["info"]["version"] = "1"
    schemas = described["components"]["schemas"]
    schemas["Event"] = TypeAdapter(Event).json_schema(ref_template="#/components/schemas/{model}")
    return described


if __name__ == "__main__":
    print(json.dumps(openapi(), indent=1, ensure_ascii=False, sort_keys=True))
