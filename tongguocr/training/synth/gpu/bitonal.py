"""What scanners do to the detector's windows: bitonal scans, and the other side's ink showing through.

Both take a batch of grey images on the device and a table of rows, drawn on the host, that names the images
they change; the other images pass as they are. A bitonal scanner knows black and white alone: its noise
decides where a page is neither, so that a grey seal or a stain is torn to speckle, and hairlines break.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tongguocr.training.synth.gpu.fields import blur, both_ways, coarsening, smooth_noise

SMALL = 8
"""The paper's light is looked for at every so many pixels, nine of them each way."""
LEVELS = (0.42, 0.78)
"""Where black ends, from the ink's grey to the paper's."""
NOISE = (0.02, 0.16)
"""The scanner's noise before the threshold, as a share of the way from ink to paper."""
SPECKS = (1e-5, 4e-3)
"""Share of the pixels that are specks of the wrong colour; each is one to four pixels across."""
STRENGTHS = (0.1, 0.4)
"""How much of the other side's ink shows through."""


def draw_bitonal(count: int, share: float, rng: np.random.Generator) -> Tensor:
    """Which of `count` images are scanned in black and white, a `share` of them, and how.

    n x 9: image, level, 1 if the level follows the paper's light, fine and coarse noise, share of black and
    of white specks, hardness of the threshold, share of the resolution that is kept.
    """
    rows = []
    for image in np.flatnonzero(rng.random(count) < share).tolist():
        fine = np.exp(rng.uniform(*np.log(NOISE)))
        black, white = (np.exp(rng.uniform(*np.log(SPECKS))) for _ in range(2))
        kept = rng.uniform(0.5, 0.95) if rng.random() < 0.5 else 1.0
        hard = np.exp(rng.uniform(np.log(3.0), np.log(40.0)))
        local = float(rng.random() < 0.6)
        rows.append(
            (image, rng.uniform(*LEVELS), local, fine, fine * rng.uniform(0, 1.2), black, white, hard, kept)
        )
    return torch.from_numpy(np.array(rows, np.float32).reshape(-1, 9))


def bitonal(images: Tensor, rows: Tensor, seed: int) -> Tensor:
    """The images (n x 1 x height x width, 0 to 1), those of `rows` in black and white (`draw_bitonal`)."""
    if not len(rows):
        return images
    which, (height, width) = rows[:, 0].long(), images.shape[-2:]
    generator = torch.Generator(images.device).manual_seed(seed)
    level, local, fine, coarse, black, white, hard, kept = (v[:, None, None] for v in rows[:, 1:].unbind(1))
    seen = images[which, 0].float()
    grain = fine * smooth_noise(len(rows), height, width, 1.3, generator).float()
    grain = grain + coarse * smooth_noise(len(rows), height, width, 7.0, generator).float()
    light = _between(seen, local) + grain
    scanned = ((light - level) * hard + 0.5).clamp(0, 1)
    dust = _specks(len(rows), height, width, generator)
    scanned = torch.where(dust < black, torch.zeros_like(scanned), scanned)
    scanned = torch.where(dust > 1 - white, torch.ones_like(scanned), scanned)
    down, across = (coarsening(kept.flatten(), size, scanned.dtype) for size in (height, width))
    scanned = both_ways(down, across, scanned).clamp(0, 1)
    return images.index_copy(0, which, scanned[:, None].to(images.dtype))


def _between(seen: Tensor, local: Tensor) -> Tensor:
    """Each pixel's light from the image's ink, 0, to its paper, 1: of the whole image, or of the place.

    An image without any ink must not be torn to pieces: ink has half of the paper's light at most.
    """
    ranked = seen[:, 2::4, 2::4].flatten(1).sort(1).values
    ink, paper = (ranked[:, int(share * ranked.shape[1]), None, None] for share in (0.02, 0.85))
    paper = paper.clamp(min=0.1)
    ground = torch.where(local > 0.5, paper_light(seen).clamp(min=0.1), paper)
    dark = torch.minimum(ink / paper, torch.full_like(ink, 0.5)) * ground
    return (seen - dark) / (ground - dark)


def paper_light(seen: Tensor) -> Tensor:
    """The light of the paper about each pixel (n x height x width): ink is narrower than 70 pixels."""
    height, width = seen.shape[-2:]
    small = F.avg_pool2d(seen[:, None], SMALL, ceil_mode=True)
    light = F.avg_pool2d(F.max_pool2d(small, 9, 1, 4), 9, 1, 4, count_include_pad=False)
    return F.interpolate(light, size=(height, width), mode="bilinear", align_corners=False)[:, 0]


def _specks(count: int, height: int, width: int, generator: torch.Generator) -> Tensor:
    """Even noise from 0 to 1, the same over one to four pixels each way, by turns."""
    device = generator.device
    fine = torch.rand(count, 1, height, width, generator=generator, device=device)
    for size in (2, 4):
        shape = (count, 1, -(-height // size), -(-width // size))
        large = torch.rand(shape, generator=generator, device=device)
        large = F.interpolate(large, scale_factor=float(size))[..., :height, :width]
        pick = torch.rand(shape, generator=generator, device=device)
        pick = F.interpolate(pick, scale_factor=float(size))[..., :height, :width]
        fine = torch.where(pick < 0.5, large, fine)
    return fine[:, 0]


def draw_show_through(count: int, share: float, rng: np.random.Generator) -> Tensor:
    """Which of `count` images show their other side, a `share` of them: each another image of the batch.

    n x 6: image, the image on its other side, strength, blur in pixels, shift to the right and down as shares
    of the image's sides.
    """
    rows = []
    for image in np.flatnonzero(rng.random(count) < share).tolist():
        behind = (image + int(rng.integers(1, max(count, 2)))) % count
        sigma = np.exp(rng.uniform(np.log(0.6), np.log(3.0)))
        rows.append((image, behind, rng.uniform(*STRENGTHS), sigma, *rng.uniform(-0.5, 0.5, 2)))
    return torch.from_numpy(np.array(rows, np.float32).reshape(-1, 6))


def show_through(images: Tensor, rows: Tensor) -> Tensor:
    """The images (n x 1 x height x width, 0 to 1), those of `rows` with their other side's ink, mirrored.

    Ink is what is darker than the paper about it, so that the table beside a page does not show.
    """
    if not len(rows):
        return images
    which, behind = rows[:, 0].long(), rows[:, 1].long()
    strength, sigma = rows[:, 2, None, None], rows[:, 3]
    verso = images[behind, 0].float().flip(-1)
    ink = (1 - verso / paper_light(verso).clamp(min=0.1)).clamp(0, 1)
    faint = blur(_shifted(ink, rows[:, 4], rows[:, 5]), sigma) * strength
    shown = images[which, 0].float() * (1 - faint)
    return images.index_copy(0, which, shown[:, None].to(images.dtype))


def _shifted(images: Tensor, right: Tensor, down: Tensor) -> Tensor:
    """Each of the images (n x height x width) shifted by shares of its sides, round and round."""
    height, width = images.shape[-2:]
    rows, columns = (
        (torch.arange(size, device=images.device) - (share * size).long()[:, None]) % size
        for size, share in ((height, down), (width, right))
    )
    number = torch.arange(len(images), device=images.device)[:, None, None]
    return images[number, rows[:, :, None], columns[:, None, :]]
