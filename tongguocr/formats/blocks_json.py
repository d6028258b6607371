"""Recognition blocks as JSON: what `tongguocr blocks` writes.

`{"format": "tongguocr-blocks", "version": 1, "image", "width", "height", "blocks": [{"lines": [ids in reading
order], "box": [x0, y0, x1, y1]}]}`, blocks in reading order, boxes in page pixels.
"""

from __future__ import annotations

import json

from tongguocr.page import Block, Page


def blocks_to_json(page: Page, blocks: tuple[Block, ...]) -> str:
    """The page's blocks, by the ids of their lines."""
    document = {
        "format": "tongguocr-blocks",
        "version": 1,
        "image": page.image,
        "width": page.width,
        "height": page.height,
        "blocks": [
            {"lines": [line.id for line in block.lines(page)], "box": list(block.box)} for block in blocks
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
