"""Everything at once: trains `digits_cnn` on a page, then shows the programs that did it."""

from adjoint import Tensor, training
from adjoint.examples import digits_cnn
from adjoint.training import cli_options
from adjoint.training.command_line import RUNS
from adjoint.training.program import gradient_program, kernels

PICTURE = "digits_cnn.svg"


def main() -> None:
    """Train, then print the gradient of the loss, the kernels it became, and where the page is."""
    options = cli_options.current()
    options.watch = options.watch or RUNS
    digits_cnn.main()
    batch = Tensor.zeros(digits_cnn.BATCH, 64), Tensor.zeros(digits_cnn.BATCH, dtype="int32")
    model = digits_cnn.Net().eval()  # without its dropout, whose random numbers say nothing here

    print("\nThe gradient of its loss, as a program:\n")
    print(gradient_program(digits_cnn.loss_of, model, *batch))
    print("\nThe kernels it became:\n")
    print(kernels(digits_cnn.loss_of, model, *batch))

    history = options.history
    picture = training.save_curves(PICTURE, history, "digits_cnn: loss of each batch")
    print(f"\nThe loss curve is in {picture}. The page of the run, with all that it measured:")
    print(options.watched[-1].page.resolve().as_uri())
    assert history["loss"][-1][1] < history["loss"][0][1] / 4
    assert picture.read_text(encoding="utf-8").startswith("<svg")


if __name__ == "__main__":
    training.run(main)
