"""A module written by hand in Core: parsed, checked, differentiated, run, and trained with.

The text is the loss of a logistic regression on 128 points, log(1 + exp(-y (x w + b))), averaged.
Its gradient is a module too, in the same words.
"""

from typing import Any

import numpy as np

import adjoint
from adjoint import Tensor, data, nn, training
from adjoint.module import differentiate, parse

STEPS = 200
TEXT = """
%w = Input() {name: "w"} : Tensor<f32, [2]>
%b = Input() {name: "b"} : Tensor<f32, []>
%x = Input() {name: "x"} : Tensor<f32, [128, 2]>
%y = Input() {name: "y"} : Tensor<f32, [128]>
%scores = Dot(%x, %w) : Tensor<f32, [128]>
%shifted = BinOp(Add, %scores, %b) : Tensor<f32, [128]>
%margins = BinOp(Mul, %y, %shifted) : Tensor<f32, [128]>
%minus = Neg(%margins) : Tensor<f32, [128]>
%powers = Exp(%minus) : Tensor<f32, [128]>
%one = ConstF32(1) : Tensor<f32, []>
%sums = BinOp(Add, %one, %powers) : Tensor<f32, [128]>
%losses = Log(%sums) : Tensor<f32, [128]>
%loss = Mean(%losses, [], false) : Tensor<f32, []>
outputs: %loss
"""


def by_hand(w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The same in Python, to compare."""
    return ((-y * (x @ w + b)).exp() + 1).log().mean()


def main() -> None:
    """Print the gradient, train with it, and see that it is the one that grad finds."""
    points = data.standardise(data.two_moons(128, noise=0.2, seed=training.seed(0)))
    x, y = Tensor(points.x), Tensor(np.where(points.y == 1, 1, -1).astype(np.float32))
    gradient = differentiate(parse(TEXT), wrt=["w", "b"]).gradient_module
    print(gradient.text())

    sgd = nn.optim.sgd(lr=0.5, momentum=0.9)
    params = (Tensor.zeros(2), Tensor.zeros(()))
    run: dict[str, Any] = {"params": params, "sgd": sgd.init(params)}

    @adjoint.jit
    def step(params: tuple[Tensor, Tensor], state: Any) -> tuple[Tensor, Any, Any]:
        """The module gives the loss and both gradients."""
        loss, *grads = gradient(*params, x, y)
        new, state = sgd.update(tuple(grads), state, params)
        return loss, new, state

    loop = training.Loop(STEPS, run=run, label="core_module")
    for _ in loop:
        loss, run["params"], run["sgd"] = step(run["params"], run["sgd"])
        loop.report(loss=loss)

    w, b = run["params"]
    _, dw, db = gradient.run({"w": w, "b": b, "x": x, "y": y})
    other = adjoint.grad(by_hand, (0, 1))(w, b, x, y)
    right = ((x @ w + b > 0) == (y > 0)).mean().item()
    print(f"loss {by_hand(w, b, x, y).item():.4f}, {right:.1%} on the right side of the line")
    assert np.allclose([*dw.tolist(), db.item()], [*other[0].tolist(), other[1].item()], atol=1e-6)
    assert max(abs(dw.numpy()).max(), abs(db.item())) < 1e-3
    assert right > 0.8


if __name__ == "__main__":
    training.run(main)
