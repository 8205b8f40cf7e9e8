"""A small training run: an MLP with dropout, Adam and a shuffling loader.

`python -m tests.nn.state.training_run STEPS SAVE_TO [RESUME_FROM]` trains, saves and prints losses.
"""

import json
import sys

import numpy as np

from adjoint import Tensor, data, nn
from adjoint.nn.state import load_checkpoint, save_checkpoint


class Net(nn.Module):
    def __init__(self):
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 3)

    def forward(self, x):
        return self.second(self.first(x).relu().dropout(0.3))


def parts():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 8)).astype(np.float32)
    model = Net()
    loader = data.Loader(data.Dataset(x, rng.integers(0, 3, 50)), 8, shuffle=True, seed=3)
    return {
        "model": model,
        "optimizer": nn.optim.Adam(model.parameters(), lr=0.01),
        "loader": loader,
    }


def train(things, start, steps):
    """The losses of steps `start` to `steps`."""
    losses = []
    while start < steps:
        for x, y in things["loader"]:
            with Tensor.train():
                loss = things["model"](Tensor(x)).cross_entropy(Tensor(y))
                things["optimizer"].zero_grad()
                loss.backward()
                things["optimizer"].step()
            losses.append(float(loss.item()).hex())
            start += 1
            if start == steps:
                break
    return losses


if __name__ == "__main__":
    steps, path = int(sys.argv[1]), sys.argv[2]
    Tensor.manual_seed(7)
    made = parts()
    begin = load_checkpoint(sys.argv[3], **made).step if len(sys.argv) > 3 else 0
    found = train(made, begin, steps)
    save_checkpoint(path, step=steps, **made)
    print(json.dumps(found))
