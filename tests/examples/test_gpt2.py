"""The GPT-2 example: weights of the public layout, a cache that changes nothing, any text."""

import subprocess
import sys

import numpy as np
import pytest

from adjoint import Tensor, nn
from adjoint.examples.gpt2 import GPT2, loaded, written

WIDTH, LAYERS, PIECES, PLACES = 128, 2, 300, 32


def public_weights(seed=0):
    """Names, shapes and orders of the public files: linear maps are (inputs, outputs)."""
    rng = np.random.default_rng(seed)
    draw = lambda *shape: rng.standard_normal(shape).astype(np.float32) / 8  # noqa: E731
    found = {"wte.weight": draw(PIECES, WIDTH), "wpe.weight": draw(PLACES, WIDTH)}
    for i in range(LAYERS):
        for name, inputs, outputs in (
            ("attn.c_attn", WIDTH, 3 * WIDTH),
            ("attn.c_proj", WIDTH, WIDTH),
            ("mlp.c_fc", WIDTH, 4 * WIDTH),
            ("mlp.c_proj", 4 * WIDTH, WIDTH),
        ):
            found[f"h.{i}.{name}.weight"] = draw(inputs, outputs)
            found[f"h.{i}.{name}.bias"] = draw(outputs)
        for name in ("ln_1", "ln_2"):
            found[f"h.{i}.{name}.weight"] = 1 + draw(WIDTH)
            found[f"h.{i}.{name}.bias"] = draw(WIDTH)
        found[f"h.{i}.attn.bias"] = np.tril(np.ones((1, 1, PLACES, PLACES), np.float32))
    return found | {"ln_f.weight": 1 + draw(WIDTH), "ln_f.bias": draw(WIDTH)}


def by_hand(w, tokens):
    """The logits, in float64, as the public model computes them."""
    w = {name: value.astype(np.float64) for name, value in w.items()}

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt(centred.var(-1, keepdims=True) + 1e-5)
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x, name):
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    def attend(x, name):
        q, k, v = (
            part.reshape(len(x), -1, 64).transpose(1, 0, 2)
            for part in np.split(linear(x, f"{name}.c_attn"), 3, -1)
        )
        scores = q @ k.transpose(0, 2, 1) / 8
        scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
        soft = np.exp(scores - scores.max(-1, keepdims=True))
        gathered = soft / soft.sum(-1, keepdims=True) @ v
        return linear(gathered.transpose(1, 0, 2).reshape(x.shape), f"{name}.c_proj")

    def gelu(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    x = w["wte.weight"][tokens] + w["wpe.weight"][: len(tokens)]
    for i in range(LAYERS):
        x = x + attend(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn")
        inner = gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"))
        x = x + linear(inner, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_weights_of_the_public_layout_give_the_public_models_logits(prefix, tmp_path):
    weights, tokens = public_weights(), np.arange(7) * 41 % PIECES
    stored = {prefix + name: Tensor(value) for name, value in weights.items()}
    nn.state.safe_save(stored, tmp_path / "model.safetensors")
    model = loaded(str(tmp_path / "model.safetensors"))
    found = model(Tensor(tokens[None])).numpy()[0]
    np.testing.assert_allclose(found, by_hand(weights, tokens), rtol=2e-4, atol=2e-4)


def test_a_weight_that_is_missing_is_an_error(tmp_path):
    stored = {name: Tensor(value) for name, value in public_weights().items()}
    del stored["h.1.mlp.c_fc.bias"]
    nn.state.safe_save(stored, tmp_path / "model.safetensors")
    with pytest.raises(Exception, match=r"linear1\.bias"):
        loaded(str(tmp_path / "model.safetensors"))


def test_the_cache_changes_no_logits():
    Tensor.manual_seed(0)
    model, tokens = GPT2(50, 16, 32, 4, 2), [3, 1, 4, 1, 5, 9, 2, 6]
    whole, caches = model(Tensor([tokens])).numpy()[0], model.caches()
    parts = [tokens[:3], *([token] for token in tokens[3:])]
    found = np.concatenate([model(Tensor([part]), caches).numpy()[0] for part in parts])
    np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-5)


def test_what_is_written_begins_with_what_was_given_and_ends_with_the_places():
    Tensor.manual_seed(0)
    tokens = written(GPT2(50, 8, 32, 4, 1), [7, 8, 9], 100)
    assert tokens[:3] == [7, 8, 9]
    assert len(tokens) == 8
    assert all(0 <= token < 50 for token in tokens)


def run(*words, steps="3"):
    command = [sys.executable, "-m", "adjoint.examples.gpt2", "--steps", steps, "--quiet", "--"]
    return subprocess.run([*command, *map(str, words)], capture_output=True, text=True, check=False)


def test_any_text_is_learned(tmp_path):
    (tmp_path / "book.txt").write_bytes("Ein Fuchs, zwei Füchse. ".encode() * 200 + b"\xff\x00")
    done = run(tmp_path / "book.txt")
    assert "nats of surprise" in done.stdout, done.stderr


def test_without_steps_the_weights_write(tmp_path):
    """They have fewer places than a window of the small model."""
    (tmp_path / "book.txt").write_text("The fox jumps over the dog. " * 40)
    stored = {name: Tensor(value) for name, value in public_weights().items()}
    nn.state.safe_save(stored, tmp_path / "model.safetensors")
    done = run(tmp_path / "book.txt", "--weights", tmp_path / "model.safetensors", steps="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Return the ")
    assert "nats" not in done.stdout


def test_pieces_that_the_weights_do_not_know_are_an_error(tmp_path):
    stored = {name: Tensor(value) for name, value in public_weights().items()}
    nn.state.safe_save(stored, tmp_path / "model.safetensors")
    done = run("--weights", tmp_path / "model.safetensors")
    assert done.returncode == 2
    assert "512 pieces, but the weights know 300: give their --merges" in done.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "E9006: read_bytes: there is no file"),
        ("", "E9003: Windows: 0 tokens have no window of 64"),
        ("short", "help: give a longer text"),
    ],
)
def test_a_text_that_is_not_there_or_too_short_is_an_error(text, problem, tmp_path):
    if text is not None:
        (tmp_path / "book.txt").write_text(text)
    done = run(tmp_path / "book.txt")
    assert done.returncode == 1
    assert problem in done.stderr
