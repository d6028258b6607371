"""Blocks -> text: engines behind one interface (paper 3.2, 3.3).

engine   what goes in and comes out; readings back into a page
prepare  a block's crop as the picture that our model looks at
pitch    how high its characters are
onnx     our engine: ONNX Runtime, greedy decoding of a page's blocks together
weights  its files, checked
locate   where on the page a token was read
assign   lines as found to lines as given
guard    length caps, loops, reading again in parts
peer     RapidOCR behind the same interface
"""

from __future__ import annotations

from pathlib import Path

from tongguocr.errors import InputError
from tongguocr.recognise.engine import BlockInput, BlockReading, Engine, LineReading, fill_page, make_inputs

__all__ = [
    "ENGINES",
    "BlockInput",
    "BlockReading",
    "Engine",
    "LineReading",
    "fill_page",
    "make_inputs",
    "open_engine",
]

ENGINES = ("tongguocr", "rapidocr")
SHIPPED = Path(__file__).parent.parent / "weights"
"""Where the weights of the package lie."""


def open_engine(name: str, weights: Path = SHIPPED, threads: int = 0) -> Engine:
    """An engine by its name; ours comes with its guard."""
    if name == "tongguocr":
        from tongguocr.recognise.guard import Guarded
        from tongguocr.recognise.onnx import OnnxEngine

        return Guarded(OnnxEngine(weights, threads=threads))
    if name == "rapidocr":
        from tongguocr.recognise.peer import PeerEngine

        return PeerEngine()
    raise InputError(f"There is no engine {name!r}; take one of {', '.join(ENGINES)}.")
