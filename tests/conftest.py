"""What several test files share: settings of Hypothesis and of torch, fixtures of tiny fonts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

# One thread a process: tests run side by side, and for tiny networks more threads only wait for each other.
# It must be said before numpy and torch are first imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import shared
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tongguocr.training.synth.atlas import Atlas
    from tongguocr.training.synth.fonts import FontBook
    from tongguocr.training.synth.gpu.render import GlyphAtlas

# No test may depend on how busy the machine is. In CI Hypothesis draws the same examples every time.
settings.register_profile(
    "tongguocr", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tongguocr")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests first: a long one that began last would leave the other cores without work."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session", autouse=True)
def shared_folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> None:
    """Tell `shared.make_once` of a folder that all processes of this run have in common."""
    own = tmp_path_factory.getbasetemp()
    shared.folder = own.parent if hasattr(request.config, "workerinput") else own


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
    from tongguocr.training.synth.gpu.render import GlyphAtlas

    return GlyphAtlas.load(atlas, "cpu")
