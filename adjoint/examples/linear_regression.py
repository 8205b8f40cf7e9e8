"""Linear regression: gradient descent finds the line that least squares knows at once."""

import numpy as np

import adjoint
from adjoint import Tensor, nn, training

STEPS, POINTS, FEATURES = 300, 200, 5


def main() -> None:
    """Fit noisy measurements, and compare with the exact answer."""
    rng = np.random.default_rng(training.seed(0))
    x = rng.standard_normal((POINTS, FEATURES)).astype(np.float32)
    truth = rng.standard_normal(FEATURES).astype(np.float32)
    y = x @ truth + 0.5 + 0.1 * rng.standard_normal(POINTS).astype(np.float32)
    xs, ys = Tensor(x), Tensor(y)

    model = nn.Linear(FEATURES, 1)
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)

    @adjoint.jit
    def step() -> Tensor:
        """The loss, its gradient, a better line: one program."""
        optimizer.zero_grad()
        loss = nn.loss.mse_loss(model(xs).squeeze(1), ys)
        loss.backward()
        optimizer.step()
        return loss

    loop = training.Loop(STEPS, model=model, optimizer=optimizer, label="linear_regression")
    for _ in loop:
        loop.report(loss=step())

    exact, *_ = np.linalg.lstsq(np.column_stack([x, np.ones(POINTS)]), y, rcond=None)
    found = np.concatenate([p.numpy().ravel() for p in model.parameters()])
    print("found", found.round(4), "\nexact", exact.round(4))
    assert np.abs(found - exact).max() < 1e-4


if __name__ == "__main__":
    training.run(main)
