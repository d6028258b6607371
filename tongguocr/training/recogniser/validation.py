"""Validation: blocks that training never sees, read as a user would have them read, and scored.

In: the held-out faces, documents and real lines. Out: AR and transition accuracy on drawn blocks and AR on
real ones. The images are painted once, so every validation of a run sees the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import torch
from torch import Tensor

from tongguocr.alignment import MATCH, align
from tongguocr.engines.torch_devices import is_half
from tongguocr.tokens.codec import Codec
from tongguocr.tokens.transitions import TRANSITIONS
from tongguocr.training.recogniser.block_feed import Data, to_device
from tongguocr.training.recogniser.blocks import BlockBatch, BlockMaker
from tongguocr.training.recogniser.model import NOWHERE, STRIDE, Cache, Recogniser, find_peak
from tongguocr.training.recogniser.recipe import Recipe
from tongguocr.training.synth.gpu.lines import LineStore
from tongguocr.training.synth.gpu.render import GlyphAtlas, render_batch

BLOCKS = 32
"""Blocks of each canvas."""
SURPLUS = 16
"""Tokens beyond the longest target, before a model that does not end is stopped."""


@dataclass(frozen=True, slots=True)
class ValidationSet:
    """Images of one canvas and their token targets."""

    images: Tensor
    tokens: list[list[int]]
    pages: tuple[str, ...] = ()
    """Of labelled pages: the page that each image is of."""


@dataclass(frozen=True, slots=True)
class Validator:
    """Reads the validation sets and scores what was read."""

    codec: Codec
    synthetic: tuple[ValidationSet, ...]
    """Drawn blocks; or what is made of labelled pages."""
    real: tuple[ValidationSet, ...]
    by_page: bool = False
    """Whether AR is the mean of the labelled pages' own."""

    @staticmethod
    def prepare(data: Data, recipe: Recipe, atlas: GlyphAtlas, device: torch.device) -> Validator:
        """Paint one batch of each canvas, synthetic and real, without what makes training harder."""
        batches = recipe.batches_of(recipe.canvases)
        few = tuple(replace(canvas, blocks=min(BLOCKS, canvas.blocks)) for canvas in batches)
        recipe = recipe.for_validation
        maker = data.maker(77, replace(recipe, canvases=few, real=0.0), held_out=True)
        synthetic = _paint_sets(maker, atlas, None, device)
        real: tuple[ValidationSet, ...] = ()
        if data.held_out_lines is not None:
            store = LineStore.load(data.held_out_lines, device)
            maker = data.maker(78, replace(recipe, canvases=few, real=1.0), held_out=True)
            real = _paint_sets(maker, atlas, store, device)
        return Validator(data.codec, synthetic, real)

    def validate(self, model: Recogniser) -> dict[str, float]:
        """Figures of a model as it is now."""
        model.eval()
        figures = self.score(lambda sets: [ids for one in sets for ids in self._read(model, one)])
        model.train()
        return figures

    def score(self, read: Callable[[Sequence[ValidationSet]], list[list[int]]]) -> dict[str, float]:
        """Figures of anything that reads images, in tokens of the codec."""
        figures: dict[str, float] = {}
        for name, sets in (("", self.synthetic), ("real ", self.real)):
            if sets:
                pairs = list(zip((ids for one in sets for ids in one.tokens), read(sets), strict=True))
                pages = [page for one in sets for page in one.pages]
                texts = self._texts(pairs)
                found = page_accuracy(texts, pages) if self.by_page else accuracy(texts)
                figures[f"{name}AR"] = round(found, 4)
                figures[f"{name}transitions"] = round(accuracy(self._transitions(pairs)), 4)
        return figures

    def _read(self, model: Recogniser, one: ValidationSet) -> list[list[int]]:
        device = one.images.device
        half = torch.autocast(device.type, torch.bfloat16, enabled=is_half(device))
        # A growing cache would have compiled layers compiled anew again and again.
        with half, torch.compiler.set_stance("force_eager"):
            longest = max(map(len, one.tokens)) + SURPLUS
            return read_greedily(model, one.images.float() / 255, self.codec, longest)

    def _texts(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[tuple[str, str]]:
        return [(_plain(self.codec, wanted), _plain(self.codec, found)) for wanted, found in pairs]

    def _transitions(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[tuple[str, str]]:
        """Transitions as one letter each, so that the same alignment counts them."""
        return [(_moves(self.codec, wanted), _moves(self.codec, found)) for wanted, found in pairs]


def _paint_sets(
    maker: BlockMaker, atlas: GlyphAtlas, store: LineStore | None, device: torch.device
) -> tuple[ValidationSet, ...]:
    """The first batch of each canvas; real lines stand on those of columns alone."""
    recipe = maker.recipe
    canvases = recipe.canvases if store is None else recipe.canvases_of_columns
    sets: dict[tuple[int, int], ValidationSet] = {}
    for batch in maker.batches():
        key = (batch.canvas.height, batch.canvas.width)
        if key not in sets:
            sets[key] = _paint_set(to_device(batch, device), atlas, store, maker.codec)
        if len(sets) == len(canvases):
            return tuple(sets.values())
    raise AssertionError("batches never end")


@torch.no_grad()
def _paint_set(
    block_batch: BlockBatch, atlas: GlyphAtlas, store: LineStore | None, codec: Codec
) -> ValidationSet:
    painted = render_batch(block_batch.batch, atlas, block_batch.degradation, block_batch.seed, store)
    return ValidationSet(painted.images, [_until_eos(row, codec) for row in block_batch.tokens.tolist()])


def _until_eos(ids: list[int], codec: Codec) -> list[int]:
    return ids[: ids.index(codec.eos)] if codec.eos in ids else ids


def _plain(codec: Codec, ids: list[int]) -> str:
    return "".join(line.text for line in codec.decode(ids))


def _moves(codec: Codec, ids: list[int]) -> str:
    lines = codec.decode(ids)
    return "".join(chr(ord("A") + TRANSITIONS.index(line.transition)) for line in lines if line.transition)


def accuracy(pairs: Sequence[tuple[str, str]]) -> float:
    """Pooled AR: matches less insertions over all reference characters."""
    counts: Counter[str] = Counter()
    for wanted, found in pairs:
        counts.update(align(wanted, found))
    wrong = sum(count for step, count in counts.items() if step != MATCH)
    return 1 - wrong / max(sum(len(wanted) for wanted, _ in pairs), 1)


def page_accuracy(pairs: Sequence[tuple[str, str]], pages: Sequence[str]) -> float:
    """The mean of the pages' AR, as the paper averages its figures; a page is one sample or several."""
    of_page: dict[str, list[tuple[str, str]]] = {}
    for page, pair in zip(pages, pairs, strict=True):
        of_page.setdefault(page, []).append(pair)
    return fmean(map(accuracy, of_page.values()))


@torch.no_grad()
def read_greedily(model: Recogniser, images: Tensor, codec: Codec, longest: int) -> list[list[int]]:
    """The most likely token at every step, all images together, up to eos."""
    image = model.keys_values(model.encode(images))
    tokens = torch.full((len(images), 1), codec.bos, dtype=torch.long, device=images.device)
    places = torch.full((len(images), 1, 2), NOWHERE, device=images.device)
    done = torch.zeros(len(images), dtype=torch.bool, device=images.device)
    written: list[Tensor] = []
    past: Cache | None = None
    for step in range(longest):
        states, pointed, past = model.decode(tokens, places, image, past)
        places = find_peak(pointed[:, -1], images.shape[-1] // STRIDE)[:, None]
        tokens = model.score(states[:, -1:]).argmax(-1)
        tokens = torch.where(done[:, None], codec.pad, tokens)
        written.append(tokens)
        done |= tokens[:, 0] == codec.eos
        if step % 16 == 15 and bool(done.all()):
            break
    return [_until_eos(row, codec) for row in torch.cat(written, 1).tolist()]
