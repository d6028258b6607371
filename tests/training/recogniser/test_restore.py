"""From the network to files and back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper
from tiny_recogniser import CODEC, SIZE, tiny_graphs, tiny_model, write_tiny

from tongguocr.engines.weights import DECODER, ENCODER
from tongguocr.errors import InputError
from tongguocr.tokens.codec import Codec
from tongguocr.training.recogniser.export import export
from tongguocr.training.recogniser.model import Recogniser
from tongguocr.training.recogniser.quantise import (
    LARGEST_COLUMN,
    MAP_KEY,
    quantise_rows,
    read_parameter_map,
    restore_rows,
)
from tongguocr.training.recogniser.restore import load_start, open_model, restore, save_model
from tongguocr.weights import MANIFEST, sha256


def tables(folder: Path) -> dict[str, bytes]:
    """Every initialiser of both graphs, by its file and name."""
    return {
        f"{name}:{tensor.name}": numpy_helper.to_array(tensor).tobytes()
        for name in (ENCODER, DECODER)
        for tensor in onnx.load(folder / name).graph.initializer
    }


def same(a: Recogniser, b: Recogniser) -> bool:
    pairs = zip(a.state_dict().items(), b.state_dict().items(), strict=True)
    return all(name == other and torch.equal(value, twin) for (name, value), (other, twin) in pairs)


def test_single_precision_comes_back_exactly(tmp_path: Path) -> None:
    model, codec = restore(write_tiny(tmp_path, quantised=False))
    assert same(model, tiny_model()) and codec == CODEC and model.size == SIZE


@pytest.mark.slow
def test_eight_bits_come_back_as_they_read_and_go_out_the_same(tmp_path: Path) -> None:
    model, codec = restore(write_tiny(tmp_path / "once", quantised=True))
    assert not same(model, tiny_model())
    note = read_parameter_map(onnx.load(tmp_path / "once" / ENCODER))
    # Products of the encoder have 7 bits.
    columns = {name for name, stored in note.items() if stored.form == "channels"}
    for name, value in tiny_model().state_dict().items():
        step = float(value.abs().max()) / (LARGEST_COLUMN if name in columns else 127)
        assert float((model.state_dict()[name] - value).abs().max()) <= 0.51 * step, name
    export(model, codec, tmp_path / "twice")
    once, twice = tables(tmp_path / "once"), tables(tmp_path / "twice")
    assert any(name.endswith("_q") for name in once)
    assert once == twice
    assert same(restore(tmp_path / "twice")[0], model)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.floats(-30, 30))
def test_quantising_twice_changes_nothing(seed: int, width: int, exponent: float) -> None:
    rows = np.random.default_rng(seed).standard_cauchy((3, width)) * 2.0**exponent
    values, scales = quantise_rows(rows.astype(np.float32))
    again = quantise_rows(restore_rows(values, scales, width))
    assert np.array_equal(values, again[0]) and np.array_equal(scales, again[1])


def test_every_parameter_is_noted_once_it_is_exported() -> None:
    known = {name for graph in tiny_graphs().values() for name in read_parameter_map(graph)}
    assert known == set(tiny_model().state_dict())


def test_weights_of_a_run_open_with_the_codec_beside_them(tmp_path: Path) -> None:
    save_model(tiny_model(), tmp_path / "model.pt")
    with pytest.raises(InputError, match=r"model\.pt: there is no codec\.json"):
        open_model(tmp_path / "model.pt")
    CODEC.save(tmp_path / "codec.json")
    model, codec = open_model(tmp_path / "model.pt")
    assert codec == CODEC and model.size == SIZE
    (tmp_path / "model.pt").write_bytes(b"")
    with pytest.raises(InputError, match=r"model\.pt: these are not weights"):
        open_model(tmp_path / "model.pt")
    with pytest.raises(InputError, match=r"nothing\.pt"):
        open_model(tmp_path / "nothing.pt")


def test_beginning_from_others_takes_the_same_network_and_tokens(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path, quantised=False)
    model = Recogniser(SIZE)
    load_start(model, folder, CODEC)
    assert same(model, tiny_model())
    with pytest.raises(InputError, match="its tokens are not those"):
        load_start(model, folder, Codec(CODEC.characters[::-1]))
    with pytest.raises(InputError, match="not those of the network that is trained"):
        load_start(Recogniser(replace(SIZE, width=32)), folder, CODEC)


def rewrite(folder: Path, name: str, graph: onnx.ModelProto) -> None:
    """A changed graph, its sum in the manifest."""
    (folder / name).write_bytes(graph.SerializeToString())
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"][name]["sha256"] = sha256(folder / name)
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize("note", [None, "junk", "[]", '{"dense.weight": ["val", false, "boxed"]}'])
def test_weights_without_notes_are_refused(tmp_path: Path, note: str | None) -> None:
    folder = write_tiny(tmp_path, quantised=False)
    graph = onnx.load(folder / ENCODER)
    del graph.metadata_props[:]
    if note is not None:
        graph.metadata_props.add(key=MAP_KEY, value=note)
    rewrite(folder, ENCODER, graph)
    with pytest.raises(InputError, match="export them again"):
        restore(folder)


def test_notes_that_lie_give_one_sentence(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path, quantised=True)
    graph = onnx.load(folder / DECODER)
    for entry in graph.metadata_props:
        entry.value = entry.value.replace("table_", "stool_")
    rewrite(folder, DECODER, graph)
    with pytest.raises(InputError, match="what they say they hold"):
        restore(folder)


def test_a_manifest_of_another_network_gives_one_sentence(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path, quantised=False)
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["size"]["wings"] = 2
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="not those of the network"):
        restore(folder)
