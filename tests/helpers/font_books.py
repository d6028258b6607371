"""Font books without fonts, for pages that are composed and not painted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OneFace:
    key: str = "one"
    group: str = "song"
    held_out: bool = False


@dataclass(frozen=True)
class Book:
    """A font book that draws everything but 缺."""

    faces: tuple[OneFace, ...] = (OneFace(), OneFace("brush", "brush"))

    def pick(self, rng: np.random.Generator, held_out: bool = False) -> int:
        return 0

    def pick_group(self, rng: np.random.Generator, group: str, held_out: bool = False) -> int:
        return next(k for k, face in enumerate(self.faces) if face.group == group)

    def face_for(self, char: str, face: int) -> int | None:
        return None if char == "缺" else face
