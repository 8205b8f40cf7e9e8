"""Losses: values by hand, and labels that cannot be right (against torch: tests/oracle)."""

import numpy as np
import pytest

from adjoint import AdjointError, BoundsError, Tensor, grad, jit, nn
from adjoint.nn import loss
from tests.support.tensors import floats

LOGITS = floats(4, 3)


def log_softmax(x):
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def test_cross_entropy_is_the_mean_of_what_is_not_ignored():
    labels = np.array([2, -100, 0, 1])
    logp = log_softmax(LOGITS.numpy())
    wanted = -(logp[0, 2] + logp[2, 0] + logp[3, 1]) / 3
    assert nn.CrossEntropyLoss()(LOGITS, Tensor(labels)).item() == pytest.approx(wanted)


def test_cross_entropy_of_probabilities_is_that_of_their_labels():
    labels = Tensor([2, 0, 0, 1])
    chances = Tensor(np.eye(3)[[2, 0, 0, 1]])
    one = nn.CrossEntropyLoss(label_smoothing=0.1)(LOGITS, labels).item()
    other = nn.CrossEntropyLoss(label_smoothing=0.1)(LOGITS, chances).item()
    assert one == pytest.approx(other)


def test_labels_may_be_of_any_integer_dtype():
    wanted = loss.cross_entropy(LOGITS, Tensor([2, 0, 0, 1])).item()
    for dtype in (np.uint8, np.int8, np.int64):
        labels = Tensor(np.array([2, 0, 0, 1], dtype))
        assert loss.cross_entropy(LOGITS, labels).item() == pytest.approx(wanted)


def test_losses_are_layers_with_options_in_their_text():
    assert repr(nn.SmoothL1Loss(beta=0.5)) == "SmoothL1Loss(reduction='mean', beta=0.5)"
    layer = nn.CrossEntropyLoss(weight=Tensor([1.0, 2.0, 3.0]))
    assert layer.parameters() == []
    assert list(layer.state_dict()) == ["weight"]


def test_losses_go_through_grad_and_jit():
    labels = Tensor([2, 0, 0, 1])
    slope = grad(lambda x: loss.cross_entropy(x, labels))(LOGITS)
    fast = jit(grad(loss.cross_entropy))(LOGITS, labels)
    np.testing.assert_allclose(slope.numpy(), fast.numpy(), rtol=1e-12)
    np.testing.assert_allclose(slope.numpy().sum(1), 0, atol=1e-12)


def test_one_number_is_a_target_for_all():
    assert loss.mse_loss(Tensor([1.0, 3.0]), Tensor(1.0)).item() == 2


# ---- wrong labels

LABELS = Tensor([2, 0, 0, 1])
WRONG = {
    "too high": (loss.cross_entropy, LOGITS, Tensor([0, 3, 1, 1]), "E6001", r"label 3 at \[1\]"),
    "negative": (loss.cross_entropy, LOGITS, Tensor([0, 1, -1, 1]), "E6001", r"label -1 at \[2\]"),
    "several": (loss.cross_entropy, LOGITS, Tensor([7, 1, 1, 9]), "E6001", "1 more"),
    "in an image": (
        loss.cross_entropy,
        floats(1, 3, 2, 2),
        Tensor([[[0, 1], [5, 2]]]),
        "E6001",
        r"label 5 at \[0, 1, 0\]",
    ),
    "floats": (loss.cross_entropy, LOGITS, floats(4), "E4011", "integers, not float64"),
    "bools": (loss.cross_entropy, LOGITS, Tensor([True] * 4), "E4011", "integers, not bool"),
    "too many": (loss.cross_entropy, LOGITS, Tensor([0] * 5), "E3003", r"\[4\], not \[5\]"),
    "a column": (loss.cross_entropy, LOGITS, Tensor([[0]] * 4), "E3003", r"not \[4, 1\]"),
    "no tensor": (loss.cross_entropy, LOGITS, [0, 1, 2, 0], "E2001", "takes a Tensor"),
    "chances above 1": (loss.cross_entropy, LOGITS, LOGITS + 9, "E2006", "between 0 and 1"),
    "nll": (loss.nll_loss, LOGITS, Tensor([0, 1, 2, 3]), "E6001", r"label 3 at \[3\]"),
    "margin": (loss.multi_margin_loss, LOGITS, Tensor([0, 1, 2, 3]), "E6001", "label 3"),
    "scalar input": (loss.cross_entropy, Tensor(1.0), Tensor(0), "E3002", "no classes"),
    "integer input": (loss.cross_entropy, Tensor([[1, 2]]), Tensor([0]), "E2005", "floats"),
    "bce shape": (
        loss.binary_cross_entropy_with_logits,
        floats(4, 1),
        Tensor([0.0, 1.0, 1.0, 0.0]),
        "E3003",
        r"\[4, 1\] and the target \[4\]",
    ),
    "bce value": (
        loss.binary_cross_entropy_with_logits,
        floats(3),
        Tensor([0.0, 2.0, 1.0]),
        "E2006",
        r"target 2.0 at \[1\]",
    ),
    "bce input": (
        loss.binary_cross_entropy,
        Tensor([0.5, 1.5]),
        Tensor([0.0, 1.0]),
        "E2006",
        r"input 1.5 at \[1\]",
    ),
    "mse shape": (loss.mse_loss, floats(4, 1), floats(4), "E3003", "reshape"),
    "l1 shape": (loss.l1_loss, floats(4, 2), floats(4), "E3003", r"\[4\]"),
    "hinge sign": (loss.hinge_embedding_loss, floats(2), Tensor([1, 0]), "E2006", r"0 at \[1\]"),
    "kl": (loss.kl_div, floats(2), Tensor([0.5, -0.1]), "E2006", r"-0.1 at \[1\]"),
    "poisson": (loss.poisson_nll_loss, floats(2), Tensor([1.0, -1.0]), "E2006", "a count"),
}


@pytest.mark.parametrize(("call", "x", "target", "code", "text"), WRONG.values(), ids=WRONG)
def test_wrong_labels_are_errors_that_name_one(call, x, target, code, text):
    realized = target.realize() if isinstance(target, Tensor) else target
    with pytest.raises(AdjointError) as error:
        call(x, realized)
    assert error.value.code == code
    assert error.match(text)


def test_the_error_is_at_the_users_line():
    with pytest.raises(BoundsError) as error:
        nn.CrossEntropyLoss()(LOGITS, Tensor([0, 1, 2, 3]))
    assert "test_loss.py" in str(error.value)
    assert "from 0 to 2" in error.value.help
    assert "i32[4]" in str(error.value)


def test_a_label_that_is_ignored_may_be_anything():
    labels = Tensor([0, 9, 2, 1])
    assert np.isfinite(nn.CrossEntropyLoss(ignore_index=9)(LOGITS, labels).item())


def test_wrong_labels_inside_jit_are_found_when_it_runs():
    step = jit(lambda x, y: loss.cross_entropy(x, y))
    step(LOGITS, LABELS)
    with pytest.raises(BoundsError, match=r"index 3 .* at \[1\]") as error:
        step(LOGITS, Tensor([0, 3, 1, 1]))
    assert error.value.code == "E6001"


OPTIONS = {
    "reduction": (lambda: nn.MSELoss(reduction="max"), "E2008", "max"),
    "batchmean": (lambda: nn.L1Loss(reduction="batchmean"), "E2008", "batchmean"),
    "smoothing": (
        lambda: nn.CrossEntropyLoss(label_smoothing=2.0)(LOGITS, LABELS),
        "E2006",
        "label_smoothing",
    ),
    "weight": (
        lambda: nn.CrossEntropyLoss(weight=Tensor([1.0, 2.0]))(LOGITS, LABELS),
        "E3003",
        "each of 3 classes",
    ),
    "huber": (lambda: nn.HuberLoss(delta=0.0)(floats(2), floats(2)), "E2006", "delta"),
    "margin p": (lambda: nn.MultiMarginLoss(p=3)(LOGITS, LABELS), "E2006", "1 or 2"),
    "gaussian": (
        lambda: nn.GaussianNLLLoss()(floats(2, 3), floats(2, 3), floats(2, 2)),
        "E3003",
        "var",
    ),
    "negative variance": (
        lambda: nn.GaussianNLLLoss()(floats(2), floats(2), Tensor([1.0, -1.0])),
        "E2006",
        r"var -1.0 at \[1\]",
    ),
    "ranking": (
        lambda: nn.MarginRankingLoss()(floats(2), floats(3), Tensor([1, 1])),
        "E3003",
        "input2",
    ),
    "cosine": (
        lambda: nn.CosineEmbeddingLoss()(floats(2, 3), floats(2, 3), Tensor([1, 1, 1])),
        "E3003",
        "targets",
    ),
    "triplet": (
        lambda: nn.TripletMarginLoss()(floats(2, 3), floats(2, 3), floats(2, 2)),
        "E3003",
        "negative",
    ),
}


@pytest.mark.parametrize(("call", "code", "text"), OPTIONS.values(), ids=OPTIONS)
def test_bad_options_are_errors(call, code, text):
    with pytest.raises(AdjointError) as error:
        call()
    assert error.value.code == code
    assert error.match(text)


def test_a_variance_below_eps_has_the_gradient_at_eps_so_that_it_can_grow():
    var = Tensor([0.0, 0.05, 0.1, 0.5], dtype="float64", requires_grad=True)
    one, zero = Tensor(np.ones(4)), Tensor(np.zeros(4))
    nn.loss.gaussian_nll_loss(one, zero, var, eps=0.1, reduction="sum").backward()
    np.testing.assert_allclose(var.grad.numpy(), [-45, -45, -45, -1], rtol=1e-12)
