"""An LSTM learns to add: the two numbers of a long row that have a mark beside them."""

import adjoint
from adjoint import Tensor, data, nn, training

STEPS, BATCH, LENGTH = 600, 64, 12


class Adder(nn.Module):
    """It reads the row once, from left to right; what it has in mind at the end is the answer."""

    def __init__(self, size: int = 32):
        self.lstm = nn.LSTM(2, size, batch_first=True)
        self.out = nn.Linear(size, 1)

    def forward(self, x: Tensor) -> Tensor:
        """x: [rows, length, 2]; a number for each row."""
        outputs, _ = self.lstm(x)
        return self.out(outputs[:, -1])


def main() -> None:
    """Train until the error is a tenth of what a constant guess has, or less."""
    seed = training.seed(0)
    train, test = data.adding(5000, LENGTH, seed).split(0.9, seed)
    model = Adder()
    optimizer = nn.optim.Adam(model.parameters(), lr=0.01)

    @adjoint.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        """One batch, with gradients that may not explode."""
        optimizer.zero_grad()
        loss = nn.loss.mse_loss(model(x), y)
        loss.backward()
        nn.optim.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    loader = data.Loader(train, BATCH, shuffle=True, seed=seed, drop_last=True)
    loop = training.Loop(STEPS, model=model, optimizer=optimizer, loader=loader, label="lstm")
    for _, (x, y) in zip(loop, loader.forever(), strict=False):
        loop.report(loss=step(x, y))

    error = nn.loss.mse_loss(model(Tensor(test.x)), Tensor(test.y)).item()
    guess = float(((test.y - train.y.mean()) ** 2).mean())
    print(f"mean squared error {error:.4f}; always guessing the mean has {guess:.4f}")
    assert error < 0.1 * guess


if __name__ == "__main__":
    training.run(main)
