"""RapidOCR's detector behind our interface: pixels in, the text boxes of PP-OCRv6 out, as lines.

It finds quadrangles, at one scale, without kinds or order; both follow from our own rules. It does not tell
how a page lies: every page counts as upright. Its model is in its wheel; nothing is fetched. Needs the extra
`rapidocr`. `open_rapidocr` is shared with the engine.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tongguocr.errors import MissingExtraError
from tongguocr.geometry import Point, bounds, height, width
from tongguocr.layout.detection import Detection
from tongguocr.page import Line, Pixels, guess_direction


def open_rapidocr(wanted_by: str, threads: int = 0, **settings: float) -> Any:
    """RapidOCR with its own default models, PP-OCRv6 small, and silent; `settings` are global ones of its.

    `threads` 0 means one a core.
    """
    try:
        from rapidocr import RapidOCR
    except ImportError:
        raise MissingExtraError(wanted_by, "rapidocr") from None
    chosen = {f"Global.{name}": value for name, value in settings.items()}
    if threads:
        chosen["EngineConfig.onnxruntime.intra_op_num_threads"] = threads
    return RapidOCR(params={"Global.log_level": "error", **chosen})


def to_bgr(pixels: Pixels) -> Pixels:
    """Grey or RGB in the order of colours that OpenCV has."""
    return np.repeat(pixels[..., None], 3, 2) if pixels.ndim == 2 else pixels[..., ::-1]


class BoxFinder(Protocol):
    """The one call of `rapidocr.RapidOCR` that the detector uses."""

    def __call__(self, img_content: Pixels, *, use_det: bool, use_cls: bool, use_rec: bool) -> Any: ...


class RapidocrDetector:
    """A line for every box that RapidOCR finds."""

    tells_kinds = False

    def __init__(self, finder: BoxFinder | None = None, threads: int = 0) -> None:
        self.finder: BoxFinder = finder or open_rapidocr("The detector rapidocr", threads)

    def detect(self, pixels: Pixels) -> Detection:
        colour = np.ascontiguousarray(to_bgr(pixels))
        answer = self.finder(colour, use_det=True, use_cls=False, use_rec=False)
        boxes = () if answer.boxes is None else answer.boxes
        scores = [None] * len(boxes) if answer.scores is None else answer.scores
        lines = [_line(k, box, score) for k, (box, score) in enumerate(zip(boxes, scores, strict=True), 1)]
        return Detection(tuple(line for line in lines if width(line.box) > 0 and height(line.box) > 0))


def _line(number: int, corners: Any, score: float | None) -> Line:
    polygon: tuple[Point, ...] = tuple((float(x), float(y)) for x, y in corners)
    box = bounds(polygon)
    confidence = None if score is None else float(score)
    return Line(f"l{number}", box, direction=guess_direction(box), confidence=confidence, polygon=polygon)
