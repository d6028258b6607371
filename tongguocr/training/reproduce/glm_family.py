"""Models of GLM-OCR's class, the published one or a small one: how rows are trained and read (paper 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from tongguocr.engines.base import Engine
from tongguocr.engines.glm.engine import HfEngine, HfSettings
from tongguocr.engines.glm.pretrained import load_pretrained, save_pretrained
from tongguocr.engines.guard import Guarded
from tongguocr.errors import InputError
from tongguocr.training.glm.expand import expand
from tongguocr.training.glm.stage import GlmPageStage
from tongguocr.training.glm.train import find_glm_start, train_glm_pages
from tongguocr.training.glm.trainer import MODEL
from tongguocr.training.recogniser.labelled import Labelled, Say
from tongguocr.training.reproduce.families import Showing

TOGETHER, IMAGE_TOKENS = 64, 60_000
"""Pictures that a GPU reads at one time, and their tokens."""


class GlmFamily:
    """GLM-OCR's class."""

    name = "glm"
    stages = ("full-1", "full-2", "full-3")

    def expand(self, start: str, added: Sequence[str], vocabulary: bool, transitions: bool, out: Path) -> str:
        """The start weights with a row's tokens, in a folder; as they are where nothing is added."""
        pretrained = load_pretrained(start)
        if pretrained.prompt.transitions and not transitions:
            raise InputError(
                f"{start}: these weights have transitions already; a row without them needs weights from"
                " before `tongguocr expand`."
            )
        known = [char for char in added if len(pretrained.prompt.encode(char)) == 1]
        if known and not vocabulary:
            raise InputError(
                f"{start}: {len(known)} of the added characters are tokens already, {known[0]} among them; a"
                " row without vocabulary expansion needs weights from before `tongguocr expand`."
            )
        if vocabulary or transitions:
            grown = expand(pretrained, added if vocabulary else [], transitions)[0]
            save_pretrained(grown, out)
            return str(out)
        return start

    def with_tokens(self, stage: GlmPageStage, transitions: bool) -> GlmPageStage:
        """The stage with transitions or newlines between lines."""
        return replace(stage, settings=replace(stage.settings, transitions=transitions))

    def train(
        self,
        stage: GlmPageStage,
        pages: Labelled,
        start: str,
        transitions: bool,
        out: Path,
        device: torch.device,
        say: Say,
    ) -> None:
        """One stage, in this process."""
        train_glm_pages(pages, stage, load_pretrained(find_glm_start(start, out) or start), out, device, say)

    def weights(self, out: Path) -> str:
        """The folder that serving would take."""
        return str(out / MODEL)

    def open(self, weights: str, showing: Showing, device: torch.device) -> Engine:
        """The engine hf, with pictures as a row wants them."""
        settings = HfSettings(longest=0 if showing.guard else showing.longest)
        if device.type != "cpu":
            # What does not fit is read in two parts.
            settings = replace(settings, rows=TOGETHER, image_tokens=IMAGE_TOKENS)
        engine = HfEngine(weights, settings, str(device))
        held = engine.image_settings
        square = held.square if showing.square is None else showing.square
        # A page has no canvas: it is shown as it is.
        engine.image_settings = replace(
            held, square=square and showing.read == "block", side=showing.side or held.side
        )
        return Guarded(engine) if showing.guard else engine
