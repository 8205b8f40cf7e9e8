"""A variational autoencoder: digits through 8 numbers and back, then digits of its own."""

import adjoint
from adjoint import Tensor, data, nn, training

STEPS, BATCH, LATENT = 800, 64, 8


class VAE(nn.Module):
    """The encoder says where a picture is among all pictures, and how sure it is of that."""

    def __init__(self) -> None:
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pictures from a point near where x is; the mean and the log variance of that point."""
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        point = mean + (0.5 * log_variance).exp() * Tensor.randn(*mean.shape)
        return self.decoder(point), mean, log_variance


def loss_of(model: VAE, x: Tensor) -> Tensor:
    """The bound on -log p(x): what is lost on the way, and what the way tells."""
    logits, mean, log_variance = model(x)
    lost = nn.loss.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    told = -0.5 * (1 + log_variance - mean * mean - log_variance.exp()).sum()
    return (lost + told) / x.shape[0]


def drawn(pictures: Tensor) -> str:
    """Pictures of 8 × 8 in a row, in characters."""
    rows = pictures.reshape(-1, 8, 8).transpose(0, 1).tolist()
    return "\n".join(
        "  ".join("".join(" .+#@"[int(4.99 * p)] for p in r) for r in row) for row in rows
    )


def main() -> None:
    """Train, compare the bound with that of a model without a code, and draw new digits."""
    seed = training.seed(0)
    digits = data.digits()
    train, test = digits.with_fields(x=digits.x / 16).split(0.9, seed)
    model = VAE()
    optimizer = nn.optim.Adam(model.parameters(), lr=2e-3)

    @adjoint.jit
    def step(x: Tensor) -> Tensor:
        """One batch."""
        optimizer.zero_grad()
        loss = loss_of(model, x)
        loss.backward()
        optimizer.step()
        return loss

    loader = data.Loader(train, BATCH, shuffle=True, seed=seed, drop_last=True)
    loop = training.Loop(STEPS, model=model, optimizer=optimizer, loader=loader, label="vae")
    for _, (x, _y) in zip(loop, loader.forever(), strict=False):
        loop.report(loss=step(x))

    bound = loss_of(model, Tensor(test.x)).item()
    pixels = Tensor(train.x).mean(0).clip(0.001, 0.999)
    plain = nn.loss.binary_cross_entropy(
        pixels.expand(len(test), 64), Tensor(test.x), reduction="sum"
    )
    print(drawn(model.decoder(Tensor.randn(8, LATENT)).sigmoid()))
    print(f"bound {bound:.2f} a digit; {plain.item() / len(test):.2f} for pixels on their own")
    assert bound < plain.item() / len(test) - 1.5


if __name__ == "__main__":
    training.run(main)
