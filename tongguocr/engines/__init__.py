"""Blocks -> text: engines behind one interface (paper 3.2, 3.3).

engine     what goes in and comes out; readings back into a page
prepare    a block's crop as the picture that our model looks at
pitch      how high its characters are
onnx       our engine: ONNX Runtime, greedy decoding of a page's blocks together
weights    its files, checked
locate     where on the page a token was read
assign     lines as found to lines as given
guard      length caps, loops, reading again in parts
peer       RapidOCR behind the same interface
tesseract  Tesseract
server     a vision model behind an address
hf         a full-size model through transformers
chat       how it is asked
answer     what it answers
spread     text without places to the block's lines
second     two engines as one, which tells where they differ
"""

from __future__ import annotations

from pathlib import Path

from tongguocr.engines.base import BlockInput, BlockReading, Engine, LineReading, fill_page, make_inputs
from tongguocr.errors import InputError
from tongguocr.weights import SHIPPED

__all__ = [
    "ENGINES",
    "SHIPPED",
    "BlockInput",
    "BlockReading",
    "Engine",
    "LineReading",
    "fill_page",
    "make_inputs",
    "open_engine",
]

ENGINES = ("tongguocr", "rapidocr", "tesseract", "server", "hf")


def open_engine(
    name: str, weights: Path = SHIPPED, threads: int = 0, url: str | None = None, model: str | None = None
) -> Engine:
    """An engine by its name; those that write freely come with their guard.

    `weights` are for tongguocr, `threads` for it and rapidocr, `url` and `model` for server, which is
    contacted when it reads.
    """
    if name == "tongguocr":
        from tongguocr.engines.guard import Guarded
        from tongguocr.engines.tongguocr import OnnxEngine

        return Guarded(OnnxEngine(weights, threads=threads))
    if name == "rapidocr":
        from tongguocr.engines.rapidocr import PeerEngine

        return PeerEngine(threads=threads)
    if name == "tesseract":
        from tongguocr.engines.tesseract import TesseractEngine

        return TesseractEngine()
    if name == "server":
        from tongguocr.engines.guard import Guarded
        from tongguocr.engines.server import open_server

        return Guarded(open_server(url, model))
    if name == "hf":
        from tongguocr.engines.glm.engine import HfEngine
        from tongguocr.engines.guard import Guarded

        return Guarded(HfEngine(model or str(weights)))
    raise InputError(f"There is no engine {name!r}; take one of {', '.join(ENGINES)}.")
