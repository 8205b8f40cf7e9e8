"""Digits, by convolutions: the same pictures as in `digits_mlp`, seen as pictures."""

import adjoint
from adjoint import Tensor, data, nn, training

STEPS, BATCH = 300, 64


class Net(nn.Module):
    """Two convolutions find strokes, a pooling makes their place matter less, a layer decides."""

    def __init__(self) -> None:
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop = nn.Dropout(0.25)
        self.out = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x: Tensor) -> Tensor:
        """A number per class and picture."""
        x = self.conv1(x.reshape(-1, 1, 8, 8)).relu()
        x = self.conv2(x).relu().max_pool2d(2)
        return self.out(self.drop(x.flatten(1)))


def loss_of(model: Net, x: Tensor, y: Tensor) -> Tensor:
    """How surprised the model is by the labels."""
    return nn.loss.cross_entropy(model(x), y)


def main() -> None:
    """Train on four fifths of the digits, and be right on 97 % of the others."""
    seed = training.seed(0)
    digits = data.digits()
    train, test = digits.with_fields(x=digits.x / 16).split(0.8, seed, by="y")
    model = Net().train()
    optimizer = nn.optim.Adam(model.parameters(), lr=3e-3)

    @adjoint.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        """One batch: the loss, its gradients, better weights."""
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        return loss

    loader = data.Loader(train, BATCH, shuffle=True, seed=seed, drop_last=True)
    loop = training.Loop(STEPS, model=model, optimizer=optimizer, loader=loader, label="digits_cnn")
    for _, (x, y) in zip(loop, loader.forever(), strict=False):
        loop.report(loss=step(x, y))

    guesses = model.eval()(Tensor(test.x)).argmax(1)
    accuracy = (guesses == Tensor(test.y)).mean().item()
    print(f"accuracy on {len(test)} digits that it has never seen: {accuracy:.1%}")
    assert accuracy >= 0.97


if __name__ == "__main__":
    training.run(main)
