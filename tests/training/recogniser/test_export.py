"""The exported graphs against the network they were made from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from paths import ROOT
from tiny_recogniser import CODEC, SIZE, tiny_graphs, tiny_model, write_tiny

from tongguocr.engines.weights import DECODER, ENCODER, load_weights
from tongguocr.errors import InputError
from tongguocr.tokens.codec import Codec
from tongguocr.training.recogniser.export import write_weights
from tongguocr.training.recogniser.quantise import BLOCK, quantise, quantise_rows

LAYERS, HEADS, HEAD = SIZE.decoder_layers, SIZE.heads, SIZE.width // SIZE.heads


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def look(encoder: onnxruntime.InferenceSession, image: np.ndarray) -> dict[str, np.ndarray]:
    names = [output.name for output in encoder.get_outputs()]
    return dict(zip(names, encoder.run(None, {"image": image}), strict=True))


def write(
    decoder: onnxruntime.InferenceSession, seen: dict[str, np.ndarray], tokens: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and the pointer's word after each of these tokens, fed one by one."""
    feed = dict(seen)
    feed["mask"] = np.zeros(seen["dense"].shape[:2], np.float32)
    feed["seen"] = np.zeros((0, SIZE.width), np.float32)
    for n in range(LAYERS):
        feed[f"past_keys_{n}"] = np.zeros((1, HEADS, HEAD, 0), np.float32)
        feed[f"past_values_{n}"] = np.zeros((1, HEADS, 0, HEAD), np.float32)
    names = [output.name for output in decoder.get_outputs()]
    scores, pointed = [], []
    for token, place in zip(tokens, places_of(tokens), strict=True):
        fed = feed | {"tokens": np.array([[token]]), "place": place[None, None]}
        out = dict(zip(names, decoder.run(None, fed), strict=True))
        scores.append(out["scores"][0])
        pointed.append(out["pointed"][0, 0])
        for n in range(LAYERS):
            feed[f"past_keys_{n}"], feed[f"past_values_{n}"] = out[f"new_keys_{n}"], out[f"new_values_{n}"]
    return np.stack(scores), np.stack(pointed)


def places_of(tokens: list[int]) -> np.ndarray:
    """Some places, none for the first token."""
    places = np.random.default_rng(len(tokens)).random((len(tokens), 2), np.float32) * 3
    places[0] = -1
    return places


def torch_scores(image: np.ndarray, tokens: list[int]) -> tuple[np.ndarray, np.ndarray]:
    model = tiny_model()
    with torch.no_grad():
        seen = model.keys_values(model.encode(torch.from_numpy(image)))
        places = torch.from_numpy(places_of(tokens))[None]
        states, pointed, _ = model.decode(torch.tensor([tokens]), places, seen)
        return model.score(states)[0].numpy(), pointed[0].softmax(-1).numpy()


@pytest.mark.parametrize("shape", [(32, 32), (96, 48), (48, 160), (256, 208)])
def test_fp32_scores_are_the_networks_own(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    image = rng.random((1, 1, *shape), dtype=np.float32)
    tokens = [CODEC.bos, *rng.integers(3, SIZE.tokens, 25).tolist()]
    seen = look(session(tiny_graphs()[ENCODER]), image)
    ours, our_places = write(session(tiny_graphs()[DECODER]), seen, tokens)
    theirs, their_places = torch_scores(image, tokens)
    np.testing.assert_allclose(ours, theirs, atol=2e-3, rtol=1e-4)
    np.testing.assert_allclose(our_places, their_places, atol=1e-4)
    assert (ours.argmax(1) == theirs.argmax(1)).all()
    assert len(set(ours.argmax(1))) > 5, "the tiny network ought to say more than one thing"


def test_quantised_graphs_are_a_quarter_as_large_and_nearly_as_good() -> None:
    image = np.random.default_rng(1).random((1, 1, 96, 96), dtype=np.float32)
    tokens = [CODEC.bos, *np.random.default_rng(2).integers(3, SIZE.tokens, 20).tolist()]
    plain, small = tiny_graphs(), {name: quantise(graph) for name, graph in tiny_graphs().items()}
    scores = [write(session(g[DECODER]), look(session(g[ENCODER]), image), tokens)[0] for g in (plain, small)]
    spread = scores[0].std()
    assert np.abs(scores[0] - scores[1]).mean() < 0.05 * spread
    weights = [sum(len(w.raw_data) for w in g[DECODER].graph.initializer) for g in (plain, small)]
    # The tiny network is narrower than a block of weights, so half of each block is filling.
    assert weights[1] < 0.7 * weights[0]


def test_the_embedding_is_stored_once() -> None:
    graph = quantise(tiny_graphs()[DECODER]).graph
    large = [w for w in graph.initializer if len(w.dims) > 1 and w.dims[0] == SIZE.tokens]
    assert [w.data_type for w in large] == [onnx.TensorProto.UINT8]


@pytest.mark.parametrize("width", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_rows_come_back_to_within_half_a_step(width: int) -> None:
    rows = np.random.default_rng(width).normal(size=(5, width)).astype(np.float32)
    rows[2] = 0
    values, scales = quantise_rows(rows)
    blocks = -(-width // BLOCK)
    back = (values.astype(np.float32) - 128) * scales.reshape(5, blocks, 1)
    back = back.reshape(5, -1)
    assert np.abs(back[:, :width] - rows).max() <= scales.max() * 0.5001
    assert not back[:, width:].any() and not back[2].any()


def test_the_folder_names_its_files_and_their_sums(tmp_path: Path) -> None:
    write_tiny(tmp_path / "new" / "weights", quantised=True)
    manifest = json.loads((tmp_path / "new" / "weights" / "manifest.json").read_text())
    assert manifest["quantised"] and manifest["stride"] == 16 and manifest["size"]["tokens"] == SIZE.tokens
    weights = load_weights(tmp_path / "new" / "weights")
    assert weights.codec == CODEC and (weights.layers, weights.heads, weights.head) == (LAYERS, HEADS, HEAD)
    text = (tmp_path / "new" / "weights" / ENCODER).read_bytes()
    assert str(ROOT).encode() not in text, "paths of this machine do not belong in a graph"


def test_a_codec_of_another_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tokens and its codec"):
        write_weights(tiny_graphs(), tiny_model(), Codec(("一",)), tmp_path, False)


def test_exporting_leaves_the_network_as_it_was() -> None:
    tiny_graphs()
    model = tiny_model()
    assert "attend" not in vars(model.encoder[0].attention)
    assert all(p.requires_grad for p in model.parameters())
