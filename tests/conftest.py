"""What several test files share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tongguocr.training.synth.atlas import Atlas
    from tongguocr.training.synth.fonts import FontBook
    from tongguocr.training.synth.gpu import GlyphAtlas


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Torch with one thread: for tiny networks more of them only wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> FontBook:
    """One face of a few characters, with its atlas and its glyphs for the GPU painters."""
    from painted_blocks import tiny_book

    return tiny_book(tmp_path_factory.mktemp("fonts"))


@pytest.fixture(scope="module")
def atlas(book: FontBook) -> Atlas:
    from painted_blocks import CHARS

    from tongguocr.training.synth.atlas import build_atlas

    return build_atlas(book, CHARS)


@pytest.fixture(scope="module")
def glyphs(atlas: Atlas) -> GlyphAtlas:
    from tongguocr.training.synth.gpu import GlyphAtlas

    return GlyphAtlas.load(atlas, "cpu")
