"""Digits, by layers of numbers: a network learns to read 8 × 8 pictures of handwritten digits."""

import adjoint
from adjoint import Tensor, data, nn, training

STEPS, BATCH = 600, 64


def main() -> None:
    """Train on four fifths of the digits, and be right on 97 % of the others."""
    seed = training.seed(0)
    train, test = data.standardise(*data.digits().split(0.8, seed, by="y"))
    model = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
    )
    optimizer = nn.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)

    @adjoint.jit
    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """One batch: the loss, its gradients, better weights."""
        optimizer.zero_grad()
        logits = model(x)
        loss = nn.loss.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        return loss, (logits.argmax(1) == y).mean()

    loader = data.Loader(train, BATCH, shuffle=True, seed=seed, drop_last=True)
    loop = training.Loop(STEPS, model=model, optimizer=optimizer, loader=loader, label="digits_mlp")
    for _, (x, y) in zip(loop, loader.forever(), strict=False):
        loss, right = step(x, y)
        loop.report(loss=loss, accuracy=right)

    accuracy = (model(Tensor(test.x)).argmax(1) == Tensor(test.y)).mean().item()
    print(f"accuracy on {len(test)} digits that it has never seen: {accuracy:.1%}")
    assert accuracy >= 0.97


if __name__ == "__main__":
    training.run(main)
