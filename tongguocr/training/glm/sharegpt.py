"""A stage's samples as files for LLaMA-Factory: messages in ShareGPT's form, images, and its YAML.

In: labelled pages, a stage, the expanded model's folder. Out: images/, train.json and validation.json,
dataset_info.json and train.yaml, to be run by `llamafactory-cli train train.yaml`. The expanded model is
given as it is: that program would make added tokens special, and they would vanish from what the model
writes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from tongguocr.engines.glm.pretrained import TOKENIZER, find_folder
from tongguocr.engines.glm.processor import read_processor_config
from tongguocr.engines.glm.prompt import make_prompt
from tongguocr.errors import InputError
from tongguocr.files import make_folder, open_whole, write_bytes
from tongguocr.tokens.base_tokenizer import open_tokenizer
from tongguocr.training.glm.samples import GlmMaker, GlmSample
from tongguocr.training.glm.stage import GlmPageStage
from tongguocr.training.recogniser.labelled import Labelled
from tongguocr.training.recogniser.page_feed import describe_left_out
from tongguocr.training.run import Run

QUESTION = "<image>Text Recognition:"
SPLITS = ("train", "validation")


def export_sft(pages: Labelled, stage: GlmPageStage, model: str, out: Path) -> str:
    """Write everything; a sentence about what was written."""
    folder = find_folder(model)
    prompt = make_prompt(open_tokenizer(folder), str(folder / TOKENIZER))
    if stage.settings.transitions and not prompt.transitions:
        raise InputError(f"{folder}: its tokenizer has no transitions; `tongguocr expand` adds them.")
    recipe, seed = stage.pages, stage.run.seed
    maker = GlmMaker(pages, recipe, stage.settings, prompt, read_processor_config(folder), seed)
    make_folder(out / "images")
    left_out: Counter[str] = Counter()
    counts = {split: _write_split(maker, split, out, left_out) for split in SPLITS}
    if not counts["train"]:
        raise InputError(f"{out}: no page gives a sample: {describe_left_out(left_out)}.")
    info = json.dumps({f"tongguocr_{split}": _described(split) for split in SPLITS}, indent=2)
    write_bytes(f"{info}\n".encode(), out / "dataset_info.json")
    write_bytes(_yaml(stage, folder, out).encode(), out / "train.yaml")
    return (
        f"{counts['train']} samples to train on, {counts['validation']} to validate;"
        f" left out: {describe_left_out(left_out)}: {out}"
    )


def _write_split(maker: GlmMaker, split: str, out: Path, left_out: Counter[str]) -> int:
    """Images and messages, one after another: a data set need not fit into memory."""
    count = 0
    with open_whole(out / f"{split}.json") as file:
        file.write(b"[")
        for name, sample in _samples(maker, split, left_out):
            encoded = BytesIO()
            Image.fromarray(sample.picture).save(encoded, "png")
            write_bytes(encoded.getvalue(), out / "images" / name)
            said = [("user", QUESTION), ("assistant", sample.text)]
            entry: dict[str, Any] = {
                "messages": [{"role": role, "content": text} for role, text in said],
                "images": [f"images/{name}"],
            }
            file.write((",\n" if count else "\n").encode() + json.dumps(entry, ensure_ascii=False).encode())
            count += 1
        file.write(b"\n]\n")
    return count


def _samples(maker: GlmMaker, split: str, left_out: Counter[str]) -> Iterator[tuple[str, GlmSample]]:
    pages = maker.pages.train if split == "train" else maker.pages.validation
    for number in range(len(pages)):
        made, left = maker.make(split, number, 0)
        left_out.update(left)
        for part, sample in enumerate(made):
            yield f"{split}-{number:07d}-{part:03d}.png", sample


def _described(split: str) -> dict[str, Any]:
    return {
        "file_name": f"{split}.json",
        "formatting": "sharegpt",
        "columns": {"messages": "messages", "images": "images"},
        "tags": {
            "role_tag": "role",
            "content_tag": "content",
            "user_tag": "user",
            "assistant_tag": "assistant",
        },
    }


def _yaml(stage: GlmPageStage, model: Path, out: Path) -> str:
    """The stage's settings by that program's names. Its own limit on pixels would shrink the images again."""
    run: Run = stage.run
    recipe = stage.pages
    settings: dict[str, object] = {
        "model_name_or_path": model.resolve(),
        "template": "glm_ocr",
        "image_max_pixels": recipe.longest_side**2,
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "full",
        "freeze_vision_tower": False,
        "freeze_multi_modal_projector": False,
        "flash_attn": "sdpa",
        "dataset_dir": ".",
        "media_dir": ".",
        "dataset": "tongguocr_train",
        "eval_dataset": "tongguocr_validation",
        "cutoff_len": recipe.longest,
        "output_dir": "model",
        "save_strategy": "epoch",
        "eval_strategy": "epoch",
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": 16,
        "learning_rate": run.learning_rate,
        "num_train_epochs": run.limits.epochs,
        "optim": "adamw_torch",
        "adam_beta1": run.betas[0],
        "adam_beta2": run.betas[1],
        "adam_epsilon": 1.0e-8,
        "weight_decay": run.weight_decay,
        "lr_scheduler_type": "cosine",
        "warmup_ratio": run.warm_up,
        "max_grad_norm": run.clip,
        "bf16": True,
        "seed": run.seed,
    }
    return "".join(f"{name}: {_value(value)}\n" for name, value in settings.items())


def _value(value: object) -> str:
    """YAML of one value; a path may hold anything, so strings are quoted as JSON does."""
    if isinstance(value, float):
        return f"{value:.10f}".rstrip("0") + ("0" if value == int(value) else "")
    return json.dumps(value if isinstance(value, bool | int) else str(value), ensure_ascii=False)
