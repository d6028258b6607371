"""GLM-OCR's folder -> model, tokenizer and processor settings, and back into a folder without loss.

A folder is read as it lies there; a name such as zai-org/GLM-OCR, which is no folder, is asked of the hub's
cache and then of the hub. Nothing else ever touches the network. A saved folder has everything that serving
needs; it replaces an older one only when it is whole.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tongguocr.engines.glm.config import MERGE, TEMPORAL, GlmSize, size_of
from tongguocr.engines.glm.processor import PREPROCESSOR, PROCESSOR, ProcessorConfig, read_processor_config
from tongguocr.engines.glm.prompt import IMAGE, Prompt, make_prompt
from tongguocr.errors import InputError, MissingExtraError
from tongguocr.files import make_folder, write_bytes
from tongguocr.tokens.base_tokenizer import open_tokenizer

if TYPE_CHECKING:
    pass

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
TOKENIZER, TOKENIZER_CONFIG, TEMPLATE = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
BESIDE = (
    *(TOKENIZER_CONFIG, TEMPLATE, PREPROCESSOR, "special_tokens_map.json", PROCESSOR),
    *("chat_template.json", "video_preprocessor_config.json", "README.md", "LICENSE"),
)
"""Files that are carried along as they are."""
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "*.txt"]


@dataclass(frozen=True)
class PretrainedModel:
    """A model of GLM-OCR's class with what belongs to it."""

    model: Any
    """A GlmOcrForConditionalGeneration."""
    prompt: Prompt
    processor: ProcessorConfig
    folder: Path | None = None
    """Where it came from; files beside its weights are carried along."""

    @property
    def size(self) -> GlmSize:
        """The sizes of the model."""
        return size_of(self.model.config)

    @property
    def rows(self) -> int:
        """Rows of the embedding table."""
        return int(self.model.get_input_embeddings().weight.shape[0])


def need_transformers() -> Any:
    """The library, made quiet; a sentence where it is missing."""
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("The full-size model", "glm") from None
    # Sample makers are forked; the tokenizer's own threads would not be.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    library: Any = transformers
    library.logging.set_verbosity_error()
    library.logging.disable_progress_bar()
    return library


def find_folder(name: str) -> Path:
    """The folder of this path, or of this name on the hub."""
    path = Path(name)
    if path.is_dir():
        return path
    if not _HUB_NAME.fullmatch(name) or path.parent.exists():
        raise InputError(f"{name}: there is no such folder of a model.")
    from huggingface_hub import snapshot_download

    for cached in (True, False):
        try:
            return Path(snapshot_download(name, allow_patterns=_HUB_FILES, local_files_only=cached))
        except Exception as error:  # offline, unknown, forbidden: the library has a class for each
            reason = str(error).splitlines()[0][:150]
    raise InputError(f"{name}: this is neither a folder nor a model that the hub gives ({reason}).")


def load_pretrained(name: str, dtype: torch.dtype = torch.float32) -> PretrainedModel:
    """The model of a folder or a hub name, on the CPU."""
    transformers = need_transformers()
    folder = find_folder(name)
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: this is not the folder of a model, it has no config.json.")
    if not any((folder / file).is_file() for file in WEIGHTS):
        raise InputError(f"{folder}: there are no weights here ({WEIGHTS[0]}).")
    prompt = make_prompt(open_tokenizer(folder), str(folder / TOKENIZER))
    model = _load_model(transformers, folder, dtype)
    _check_match(model, prompt, folder)
    return PretrainedModel(model, prompt, read_processor_config(folder), folder)


def _load_model(transformers: Any, folder: Path, dtype: torch.dtype) -> Any:
    kind = transformers.GlmOcrForConditionalGeneration
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") != "glm_ocr":
            raise InputError(f"{folder}: this model is of the kind {config.get('model_type')}, not glm_ocr.")
        model, told = kind.from_pretrained(
            folder, dtype=dtype, attn_implementation="sdpa", local_files_only=True, output_loading_info=True
        )
    except InputError:
        raise
    except Exception as error:  # a damaged file fails wherever it is met first
        reason = (str(error).splitlines() or [type(error).__name__])[0][:150]
        raise InputError(f"{folder}: the model cannot be loaded ({reason}).") from None
    if told["missing_keys"] or told["mismatched_keys"]:
        raise InputError(f"{folder}: the weights are not complete, or not of the sizes in config.json.")
    return model.eval()


def _check_match(model: Any, prompt: Prompt, folder: Path) -> None:
    rows = int(model.get_input_embeddings().weight.shape[0])
    tokens = len(prompt.spellings)
    if tokens > rows:
        raise InputError(
            f"{folder / TOKENIZER}: the tokenizer does not match the model: {tokens} tokens, {rows} rows."
        )
    if prompt.image != model.config.image_token_id:
        raise InputError(
            f"{folder / TOKENIZER}: the tokenizer does not match the model: {IMAGE} is {prompt.image}"
            f" here and {model.config.image_token_id} there."
        )


def save_pretrained(pretrained: PretrainedModel, out: Path, state: dict[str, Any] | None = None) -> None:
    """Everything into a folder, which takes the place of an older one when it is whole.

    `state` stands in for the model's own parameters, in a precision to be saved, for example.
    """

    def fill(folder: Path) -> None:
        pretrained.model.save_pretrained(folder, state_dict=state)
        write_bytes(pretrained.prompt.tokenizer.to_str(pretty=True).encode(), folder / TOKENIZER)
        _write_beside(pretrained, folder)

    replace_folder(out, fill)


def replace_folder(out: Path, fill: Callable[[Path], None]) -> None:
    """A folder that is filled beside its place and moved there at the end."""
    made, old = (out.with_name(f".{out.name}.{part}") for part in ("new", "old"))
    make_folder(out.parent)
    for left in (made, old):
        shutil.rmtree(left, ignore_errors=True)
    make_folder(made)
    try:
        fill(made)
        if out.exists():
            out.rename(old)
        made.rename(out)
    except OSError as error:
        raise InputError(f"{out}: the folder cannot be written ({error.strerror or error}).") from None
    finally:
        if old.exists() and not out.exists():
            old.rename(out)
        for left in (made, old):
            shutil.rmtree(left, ignore_errors=True)


def _write_beside(pretrained: PretrainedModel, folder: Path) -> None:
    """Files that are not the model's: those it came with, and where it came with none, our own."""
    for name in BESIDE:
        source = pretrained.folder / name if pretrained.folder else None
        if source is not None and source.is_file():
            shutil.copyfile(source, folder / name)
    for name, content in _own_files(pretrained.processor).items():
        if not (folder / name).exists():
            write_bytes(content.encode(), folder / name)


def _own_files(processor: ProcessorConfig) -> dict[str, str]:
    tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|endoftext|>",
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 131_072,
    }
    pictures = {
        "image_processor_type": "Glm46VImageProcessor",
        "processor_class": "Glm46VProcessor",
        "patch_size": processor.patch,
        "merge_size": MERGE,
        "temporal_patch_size": TEMPORAL,
        "size": {"shortest_edge": processor.min_pixels, "longest_edge": processor.max_pixels},
        "image_mean": processor.mean,
        "image_std": processor.std,
    }
    tables = {TOKENIZER_CONFIG: tokenizer, PREPROCESSOR: pictures}
    return {name: json.dumps(table, indent=2) + "\n" for name, table in tables.items()} | {
        TEMPLATE: _TEMPLATE
    }


_TEMPLATE = """\
[gMASK]<sop>
{%- for message in messages %}
{%- if message.role == 'assistant' %}<|assistant|>{{ '\\n' }}
{%- else %}<|{{ message.role }}|>{{ '\\n' }}
{%- endif %}
{%- if message.content is string %}{{ message.content }}
{%- else %}
{%- for part in message.content %}
{%- if part.type in ('image', 'image_url') %}<|begin_of_image|><|image|><|end_of_image|>
{%- elif part.type == 'text' %}{{ part.text }}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{{ '\\n' }}{% endif %}"""
