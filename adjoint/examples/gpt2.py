"""GPT-2: learns byte pairs of a text and what comes next in it, writes, or goes on from weights.

adjoint train gpt2                                  the standard library's docstrings, a small model
adjoint train gpt2 --device GPU -- book.txt         any text
adjoint train gpt2 -- --weights model.safetensors --merges merges.txt    the public GPT-2 files
"""

import argparse
from functools import partial, reduce
from itertools import repeat
from typing import Any

import adjoint
from adjoint import Tensor, autocast, data, nn, training

STEPS, BATCH, LENGTH = 300, 16, 64
PIECES, SIZES = 512, (LENGTH, 96, 4, 3)  # of a small model: places, width, heads, layers
# Names of parts in the public files, and here; there matrices of linear maps are turned.
NAMES = {"attn.c_attn.": "self_attn.in_proj_", "attn.c_proj.": "self_attn.out_proj."}
NAMES |= {"mlp.c_fc.": "linear1.", "mlp.c_proj.": "linear2.", "ln_1.": "norm1.", "ln_2.": "norm2."}


class GPT2(nn.Module):
    """Pieces and their places → layers that look back → what the next piece may be."""

    def __init__(self, pieces: int, length: int, width: int, heads: int, layers: int):
        sizes, options = (width, heads, 4 * width), {"batch_first": True, "norm_first": True}
        layer: Any = partial(nn.TransformerEncoderLayer, *sizes, 0.0, nn.GELU("tanh"))
        self.wte, self.wpe = nn.Embedding(pieces, width), nn.Embedding(length, width)
        self.h = [layer(**options) for _ in range(layers)]
        self.ln_f, self.heads = nn.LayerNorm(width), heads
        for matrix in [p for p in self.parameters() if p.ndim == 2]:
            nn.init.normal_(matrix, std=0.02)

    def forward(self, tokens: Tensor, caches: list[nn.KVCache] | None = None) -> Tensor:
        """[batch, length] numbers of pieces; [batch, length, pieces] logits."""
        places = Tensor.arange(tokens.shape[1]) + (caches[0].length if caches else 0)
        x = self.wte(tokens) + self.wpe(places)
        for layer, cache in zip(self.h, caches or repeat(None), strict=False):
            x = layer(x, is_causal=True, cache=cache)
        return self.ln_f(x).linear(self.wte.weight.T)

    def caches(self) -> list[nn.KVCache]:
        """Memory for the keys and values of one text, for every layer."""
        length, width = self.wpe.weight.shape
        return [nn.KVCache(1, self.heads, length, width // self.heads) for _ in self.h]


def loaded(path: str) -> GPT2:
    """The model of a file in the layout of the public GPT-2 weights."""
    found = {n.removeprefix("transformer."): v for n, v in nn.state.safe_load(path).items()}
    pieces, width = found["wte.weight"].shape
    layers = 1 + max(int(name.split(".")[1]) for name in found if name.startswith("h."))
    model = GPT2(pieces, found["wpe.weight"].shape[0], width, width // 64, layers)
    weights = {}  # under our names
    for name, value in found.items():
        ours = reduce(lambda known, names: known.replace(*names), NAMES.items(), name)
        if not name.endswith((".attn.bias", ".masked_bias", "lm_head.weight")):  # masks, wte again
            weights[ours] = value.T if ".c_" in name and value.ndim == 2 else value
    model.load_state_dict(weights)
    return model


def written(model: GPT2, tokens: list[int], count: int, heat: float = 0.8) -> list[int]:
    """The tokens, and some that may follow: a program reads the first, another all later ones."""
    caches, new = model.caches(), tokens
    following = adjoint.jit(lambda x: (model(x, caches)[0, -1] / heat).softmax().multinomial())
    for _ in range(min(count, model.wpe.weight.shape[0] - len(tokens))):
        new = [following(Tensor([new])).item()]
        tokens = tokens + new
    return tokens


def loss_of(model: GPT2, x: Tensor, y: Tensor) -> Tensor:
    """The mean surprise, in nats, by each piece that comes next."""
    with autocast("bfloat16", device="GPU"):
        logits = model(x)
        return nn.loss.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def main() -> None:
    """Train, be surprised by less than when the steps began, and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", nargs="?", help="a file to read")
    parser.add_argument("--weights", help="go on from these")
    parser.add_argument("--merges", help="the pieces that they know")
    options, seed = parser.parse_args(), training.seed(0)
    text = data.read_bytes(options.text) if options.text else data.docstrings(150_000)
    kind, merges = data.BytePairs, options.merges
    pieces = kind.from_merges(merges) if merges else kind.learn(text, PIECES)
    model = loaded(options.weights) if options.weights else GPT2(len(pieces), *SIZES)
    if len(pieces) > (known := len(model.wte.weight)):
        parser.error(f"{len(pieces)} pieces, but the weights know {known}: give their --merges")
    windows = data.Windows(pieces.encode(text), min(LENGTH, len(model.wpe.weight)))
    optimizer = nn.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.1)

    @adjoint.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        nn.optim.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    loader = data.Loader(windows, BATCH, shuffle=True, seed=seed, drop_last=True)
    loop = training.Loop(STEPS, model=model, optimizer=optimizer, loader=loader, label="gpt2")
    for _, (x, y) in zip(loop, loader.forever(), strict=False):
        loop.report(loss=step(x, y))
    tokens = written(model, pieces.encode("Return the ").tolist(), 40)
    print(pieces.decode([token for token in tokens if token < len(pieces)]))
    if losses := [value for _, value in loop.history.get("loss", ())]:  # there are steps
        print(f"\n{losses[0]:.2f} nats of surprise a piece, then {losses[-1]:.2f}")
        assert losses[-1] < losses[0] - 1.5


if __name__ == "__main__":
    training.run(main)
