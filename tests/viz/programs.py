"""Small programs to look at."""

from adjoint import Tensor, nn


class Network(nn.Module):
    """Two layers."""

    def __init__(self):
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 1)

    def forward(self, x):
        return self.second(self.first(x).relu())


def training_step():
    """A step of training, and an argument for it."""
    network = Network()
    optimizer = nn.optim.SGD(network.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = (network(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, Tensor.ones(2, 4)


def softmax_loss(x, w):
    """Has a composite, and two lines."""
    y = (x @ w).softmax(-1)
    return (y * y).sum()


def long_chain(count):
    """A graph of about so many nodes, by a few lines."""
    x = y = Tensor.ones(3).realize()
    for i in range(count // 2):
        y = y + x
        y = y * float(i + 2)
    return y


def doubled_sine(x):
    """Whose gradient has a cosine."""
    return (x.sin() * 2).sum()
