"""A character GPT: it reads the standard library's docstrings, and then writes one of its own."""

import sys
from functools import partial
from typing import Any

import adjoint
from adjoint import Tensor, data, nn, training

STEPS, BATCH, LENGTH, WIDTH, HEADS, LAYERS = 500, 16, 32, 64, 4, 2


class GPT(nn.Module):
    """Characters → layers of attention to what came before → what the next character may be."""

    def __init__(self, characters: int, experts: int = 0):
        place = nn.RotaryEmbedding(WIDTH // HEADS)
        named: dict[str, Any] = {"batch_first": True, "norm_first": True, "rope": place}
        layer = partial(nn.TransformerEncoderLayer, WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", **named)
        self.embedding = nn.Embedding(characters, WIDTH)
        mixture = partial(nn.MixtureOfExperts, WIDTH, 2 * WIDTH, experts)
        self.layers = [layer(feed_forward=mixture() if experts else None) for _ in range(LAYERS)]
        self.norm = nn.LayerNorm(WIDTH)
        self.out = nn.Linear(WIDTH, characters, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """[batch, length] numbers of characters; [batch, length, characters] logits."""
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, is_causal=True)
        return self.out(self.norm(x))


def written(model: GPT, text: data.Text, start: str, count: int) -> str:
    """`start`, and characters that the model thinks may follow."""
    following = adjoint.jit(lambda window: (1.5 * model(window)[0, -1]).softmax().multinomial())
    tokens = text.encode(start).tolist()
    for _ in range(count):
        tokens.append(following(Tensor([tokens[-LENGTH:]])).item())
    return text.decode(tokens)


def loss_of(model: GPT, x: Tensor, y: Tensor) -> Tensor:
    """The mean surprise, in nats, by each character that comes next; experts add their own."""
    with nn.auxiliary_losses(0.01) as extra:
        return extra.added(nn.loss.cross_entropy(model(x).transpose(1, 2), y))


def main() -> None:
    """Train, be surprised by less than 2.4 nats a character of other docstrings, and write."""
    seed, whole = training.seed(0), data.docstrings(150_000)
    text = data.Text(whole[:140_000], LENGTH, vocabulary="".join(sorted(set(whole))))
    model, mesh = GPT(len(text.vocabulary), 4 * ("--experts" in sys.argv)), training.mesh()
    nn.parallel.shard_model(model, mesh)
    optimizer = nn.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.9, 0.98))

    @adjoint.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        nn.optim.clip_grad_norm_(model.parameters(), 1.0)
        return optimizer.step(loss)

    part = nn.parallel.loader_place(mesh) | {"shuffle": True, "seed": seed, "drop_last": True}
    loader = data.Loader(text, BATCH, **part)
    loop = training.Loop(STEPS, model=model, optimizer=optimizer, loader=loader, label="gpt")
    for _, (x, y) in zip(loop, loader.forever(), strict=False):
        loop.report(loss=step(*nn.parallel.shard_batch(mesh, x, y, local=True)))

    print(written(model, text, "Return a new dictionary with the ", 200))
    others = data.Loader(data.Text(whole[140_000:], LENGTH, text.vocabulary), 512, shuffle=True)
    loss = adjoint.jit(loss_of)(model, *next(iter(others))).item()
    print(f"\n{loss:.2f} nats of surprise a character; at random it is 4.6")
    assert loss < 2.4


if __name__ == "__main__":
    training.run(main)
