"""The small recogniser: an image of a block in, one sequence of character and transition tokens out.

A convolutional stem takes grey pixels to stride 16, a transformer with two-dimensional rotary positions looks
at the whole block, and a causal decoder writes the target of the paper's section 3.2. Images may have any
height and width that are multiples of 16; nothing is padded. The generator knows where each character lies,
and the network is taught it twice. A dense head classifies single places of the feature map against the token
embeddings. A pointer in the decoder is taught to point at the character that comes next; it reads the dense
head's features there, and where it pointed is told to the decoder with the next token, so that a text which
repeats itself cannot make it lose its place. The pointer also gives characters their boxes when reading.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tongguocr.training.recogniser.backbone import ALONG, CHANNELS, Backbone

STRIDE = 16
"""Pixels a feature: 2.5 features to a character of 40 px."""

POINTER = 128
"""Channels by which the pointer compares."""
NOWHERE = -1.0
"""Both coordinates of a place that there is not: before the first token."""

Rotation = tuple[Tensor, Tensor]
Cache = list[tuple[Tensor, Tensor]]
"""Keys and values of a layer, batch x heads x length x head."""


@dataclass(frozen=True, slots=True)
class ModelSize:
    """About 24 M parameters at 19,300 tokens: as many bytes once quantised."""

    tokens: int
    width: int = 384
    heads: int = 6
    encoder_layers: int = 6
    decoder_layers: int = 3
    feed_forward: int = 768
    stem: tuple[int, int] = (96, 192)
    """Channels at a quarter and an eighth of the resolution."""
    stem_blocks: int = 2
    backbone: bool = False
    """Whether the stem is PP-OCRv6's backbone (backbone.py) instead of our own."""


class EncodedImage(NamedTuple):
    """What the decoder attends to of a batch of images."""

    layers: Cache
    pointer: Tensor
    """The pointer's keys, batch x places x POINTER."""
    dense: Tensor
    """What it reads, batch x places x width: comparable with token embeddings."""


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.scale.to(x.dtype), 1e-6)


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """Turn pairs of channels by their position's angles."""
    cos, sin = (part.to(x.dtype) for part in rotation)
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key_value = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def queries(self, x: Tensor) -> Tensor:
        return self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        key, value = self.key_value(x).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return key, value

    def attend(self, q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.up(x).chunk(2, -1)
        return self.down(value * F.silu(gate))


class EncoderLayer(nn.Module):
    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.before_attention, self.before_feed = RMSNorm(size.width), RMSNorm(size.width)
        self.attention = Attention(size.width, size.heads)
        self.feed = FeedForward(size.width, size.feed_forward)

    def forward(self, x: Tensor, rotation: Rotation) -> Tensor:
        inner = self.before_attention(x)
        key, value = self.attention.keys_values(inner)
        q, k = rotate(self.attention.queries(inner), rotation), rotate(key, rotation)
        x = x + self.attention.attend(q, k, value)
        return x + self.feed(self.before_feed(x))


class DecoderLayer(nn.Module):
    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.before_self, self.before_cross, self.before_feed = (RMSNorm(size.width) for _ in range(3))
        self.own = Attention(size.width, size.heads)
        self.cross = Attention(size.width, size.heads)
        self.feed = FeedForward(size.width, size.feed_forward)

    def forward(
        self, x: Tensor, image: tuple[Tensor, Tensor], rotation: Rotation, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """`image` are the image's keys and values, `past` those of the tokens before these."""
        inner = self.before_self(x)
        key, value = self.own.keys_values(inner)
        key = rotate(key, rotation)
        if past is not None:
            key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        q = rotate(self.own.queries(inner), rotation)
        x = x + self.own.attend(q, key, value, causal=past is None)
        x = x + self.cross.attend(self.cross.queries(self.before_cross(x)), *image)
        return x + self.feed(self.before_feed(x)), (key, value)


class Pointer(nn.Module):
    """Where the next character lies."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.before = RMSNorm(width)
        self.query = nn.Linear(width, POINTER, bias=False)
        self.key = nn.Linear(width, POINTER, bias=False)

    def forward(self, x: Tensor, keys: Tensor) -> Tensor:
        """States and keys -> a score for every place, batch x length x places."""
        return self.query(self.before(x)) @ keys.transpose(1, 2) * POINTER**-0.5


class ConvBlock(nn.Module):
    """Local strokes before any attention: a wide depthwise filter and a pointwise mix."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.spread = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.GroupNorm(1, width)
        self.up, self.down = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(3 * width, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.gelu(self.up(self.norm(self.spread(x)))))


def make_stem(size: ModelSize) -> nn.Sequential:
    """Our own stem: pixels to a sixteenth of the resolution."""
    quarter, eighth = size.stem
    # Straight to a quarter: features at half the resolution are most of a stem's memory traffic.
    stem = nn.Sequential(
        nn.Conv2d(1, quarter, 7, 4, 3),
        nn.GELU(),
        nn.Conv2d(quarter, eighth, 3, 2, 1),
        *(ConvBlock(eighth) for _ in range(size.stem_blocks)),
        nn.GELU(),
        nn.Conv2d(eighth, size.width, 3, 2, 1),
    )
    for part in stem:
        if isinstance(part, nn.Conv2d):
            # As strong as what goes in: by default, strokes drown in the waves that say where they are.
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
    return stem


class Recogniser(nn.Module):
    """Image and tokens so far -> the next token."""

    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        self.size = size
        self.stem: nn.Module = Backbone() if size.backbone else make_stem(size)
        # The backbone has a row of features every four pixels.
        self.join: nn.Module = (
            nn.Conv2d(CHANNELS[-1], size.width, (ALONG, 1), (ALONG, 1)) if size.backbone else nn.Identity()
        )
        self.after_stem = RMSNorm(size.width)
        self.encoder = nn.ModuleList(EncoderLayer(size) for _ in range(size.encoder_layers))
        self.after_encoder = RMSNorm(size.width)
        self.embedding = nn.Embedding(size.tokens, size.width)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.decoder = nn.ModuleList(DecoderLayer(size) for _ in range(size.decoder_layers))
        self.after_decoder = RMSNorm(size.width)
        # Takes the place that the last token was read at; the name is in the checkpoints.
        self.whence = nn.Linear(size.width, size.width, bias=False)
        self.pointer = Pointer(size.width)
        self.dense = nn.Linear(size.width, size.width, bias=False)

    def forward(self, images: Tensor, tokens: Tensor, places: Tensor) -> tuple[EncodedImage, Tensor, Tensor]:
        """All at once, for training: the encoded images, states to be scored, what is pointed at."""
        image = self.keys_values(self.encode(images))
        states, pointed, _ = self.decode(tokens, places, image)
        return image, states, pointed

    def encode(self, image: Tensor) -> Tensor:
        """batch x 1 x height x width in 0..1 -> batch x places x width, places row by row."""
        x = self.join(self.stem(standardise(image)))
        rows, columns = x.shape[-2:]
        head = self.size.width // self.size.heads
        rotation = grid_rotation(rows, columns, head, x.device)
        x = self.after_stem(x.flatten(2).transpose(1, 2))
        x = x + grid_waves(rows, columns, self.size.width, x.device).to(x.dtype)
        for layer in self.encoder:
            x = layer(x, rotation)
        return self.after_encoder(x)

    def keys_values(self, features: Tensor) -> EncodedImage:
        """What all steps of the decoder attend to: computed once a block."""
        layers = [cast(DecoderLayer, layer).cross.keys_values(features) for layer in self.decoder]
        return EncodedImage(layers, self.pointer.key(features), self.dense(features))

    def embed(self, tokens: Tensor, places: Tensor) -> Tensor:
        """Tokens and where they were read (x and y in features, or NOWHERE) -> the decoder's input."""
        waves = place_waves(places[..., 0] - 0.5, places[..., 1] - 0.5, self.size.width)
        waves = waves * (places[..., :1] >= 0)
        return self.embedding(tokens) * math.sqrt(self.size.width) + self.whence(waves)

    @property
    def points_after(self) -> int:
        """The layer after which the pointer points: the last but one, if there are two."""
        return max(self.size.decoder_layers - 2, 0)

    def decode(
        self, tokens: Tensor, places: Tensor, image: EncodedImage, past: Cache | None = None
    ) -> tuple[Tensor, Tensor, Cache]:
        """batch x length tokens and their places -> states to be scored, the pointer's scores of where the
        next ones lie, and what later tokens need of these."""
        start = past[0][0].shape[2] if past else 0
        at = torch.arange(start, start + tokens.shape[1], device=tokens.device)
        rotation = line_rotation(at, self.size.width // self.size.heads)
        x, kept, pointed = self.embed(tokens, places), [], image.pointer
        for number, layer in enumerate(self.decoder):
            x, pair = layer(x, image.layers[number], rotation, past[number] if past else None)
            kept.append(pair)
            if number == self.points_after:
                pointed = self.pointer(x, image.pointer).float()
                x = x + pointed.softmax(-1).to(image.dense.dtype) @ image.dense
        return self.after_decoder(x), pointed, kept

    def score(self, states: Tensor) -> Tensor:
        """States -> a score for each token: the embeddings serve both ways."""
        return F.linear(states, self.embedding.weight.to(states.dtype))


def standardise(image: Tensor) -> Tensor:
    """Each image around 0, its ink as strong as that of others: pale scans and dark ones look alike."""
    middle = image.mean((1, 2, 3), keepdim=True)
    spread = ((image - middle) ** 2).mean((1, 2, 3), keepdim=True).sqrt()
    return (image - middle) / (spread + 0.02)


def _frequencies(count: int, base: float, device: torch.device) -> Tensor:
    return base ** -(torch.arange(count, device=device, dtype=torch.float32) / count)


def line_rotation(at: Tensor, head: int) -> Rotation:
    """Angles of places in the text."""
    angles = at[:, None].float() * _frequencies(head // 2, 10000.0, at.device)
    return angles.cos(), angles.sin()


def grid_rotation(rows: int, columns: int, head: int, device: torch.device) -> Rotation:
    """Angles of places on the page: half of the channels for the row, half for the column."""
    waves = _frequencies(head // 4, 100.0, device)
    y = torch.arange(rows, device=device).float()[:, None, None] * waves
    x = torch.arange(columns, device=device).float()[None, :, None] * waves
    angles = torch.cat([y.expand(rows, columns, -1), x.expand(rows, columns, -1)], -1).flatten(0, 1)
    return angles.cos(), angles.sin()


def grid_waves(rows: int, columns: int, width: int, device: torch.device) -> Tensor:
    """Where each feature lies, as sines: what cross-attention finds the next line by."""
    y = torch.arange(rows, device=device).float()[:, None].expand(rows, columns)
    x = torch.arange(columns, device=device).float()[None].expand(rows, columns)
    return place_waves(x, y, width).flatten(0, 1)


def place_waves(x: Tensor, y: Tensor, width: int) -> Tensor:
    """Sines and cosines of any places, in features; 0 is the middle of the first feature."""
    waves = _frequencies(width // 4, 50.0, x.device)
    angles = [part[..., None] * waves for part in (y, x)]
    return torch.cat([f(angle) for angle in angles for f in (torch.sin, torch.cos)], -1)


def find_peak(scores: Tensor, columns: int) -> Tensor:
    """The pointer's scores (batch x places) -> x and y in features: the middle of each peak."""
    at = torch.arange(scores.shape[-1], device=scores.device)
    x, y = at % columns, at // columns
    best = scores.argmax(-1, keepdim=True)
    near = ((x - best % columns).abs() <= 1) & ((y - best // columns).abs() <= 1)
    weights = scores.float().masked_fill(~near, -torch.inf).softmax(-1)
    return torch.stack([(weights * x).sum(-1), (weights * y).sum(-1)], -1) + 0.5
