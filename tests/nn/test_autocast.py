"""autocast: layers, losses and optimisers work unchanged."""

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, autocast, dtypes, nn

F32, BF16 = dtypes.float32, dtypes.bfloat16
LAYERS = {
    "Linear": (lambda: nn.Linear(8, 3), (5, 2, 8), BF16),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3), (5, 2, 8), BF16),
    "Conv2d": (lambda: nn.Conv2d(2, 4, 3), (1, 2, 8, 8), BF16),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 4, 3), (1, 2, 8, 8), BF16),
    "RNN": (lambda: nn.RNN(8, 3, bidirectional=True), (5, 2, 8), BF16),
    "LSTM": (lambda: nn.LSTM(8, 6, 2, proj_size=3), (5, 2, 8), BF16),
    "GRU": (lambda: nn.GRU(8, 3, 2), (5, 2, 8), BF16),
    "RNNCell": (lambda: nn.RNNCell(8, 3), (2, 8), BF16),
    "LSTMCell": (lambda: nn.LSTMCell(8, 3), (2, 8), BF16),
    "GRUCell": (lambda: nn.GRUCell(8, 3), (2, 8), BF16),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2), (3, 2, 4, 4), F32),
    "LayerNorm": (lambda: nn.LayerNorm(8), (5, 2, 8), F32),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (3, 4, 4, 4), F32),
    "RMSNorm": (lambda: nn.RMSNorm(8), (5, 2, 8), F32),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 16), (5, 2, 8), F32),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_work_unchanged(name):
    make, shape, wanted = LAYERS[name]
    layer, x = make(), Tensor.randn(*shape)
    with autocast("bfloat16"):
        y = layer(x)
        y = y[0] if isinstance(y, tuple) else y
        loss = y.square().mean()
    loss.backward()
    assert (y.dtype, loss.dtype) == (wanted, F32)
    assert {p.grad.dtype for p in layer.parameters()} == {F32}
    plain = layer(x)
    plain = plain[0] if isinstance(plain, tuple) else plain
    np.testing.assert_allclose(y.float().numpy(), plain.numpy(), rtol=0.1, atol=0.05)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("inside", [True, False])
def test_recurrent_gradients_are_near_those_of_float32(name, inside):
    layer, x = getattr(nn, name)(4, 6), Tensor.randn(5, 2, 4)
    with autocast("bfloat16"):
        loss = layer(x)[0].square().mean()
        if inside:
            loss.backward()
    if not inside:
        loss.backward()
    low = [p.grad.numpy() for p in layer.parameters()]
    for p in layer.parameters():
        p.grad = None
    layer(x)[0].square().mean().backward()
    for found, p in zip(low, layer.parameters(), strict=True):
        wanted = p.grad.numpy()
        assert np.abs(found - wanted).max() <= 0.05 * np.abs(wanted).max() + 1e-3


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells_give_their_state_in_the_low_dtype(name):
    cell, h = getattr(nn, name)(3, 4), Tensor.zeros(2, 4)
    state = (h, h) if name == "LSTMCell" else h
    with autocast("bfloat16"):
        for _ in range(2):
            state = cell(Tensor.ones(2, 3), state)
    assert {t.dtype for t in (state if name == "LSTMCell" else [state])} == {BF16}


F = nn.functional
LOSSES = {
    "cosine_embedding": lambda a, b: F.cosine_embedding_loss(a, b, Tensor([1.0, -1, 1, 1])),
    "multi_margin": lambda a, b: F.multi_margin_loss(a, Tensor([0, 1, 2, 0])),
    "gaussian_nll": lambda a, b: F.gaussian_nll_loss(a, b, b.sigmoid()),
    "bce": lambda a, b: F.binary_cross_entropy(a.sigmoid(), b.sigmoid().detach()),
    "bce with logits": lambda a, b: F.binary_cross_entropy_with_logits(a, b.sigmoid().detach()),
    "ctc": lambda a, b: F.ctc_loss(a.unsqueeze(1), Tensor([[1, 2]]), Tensor([4]), Tensor([2])),
    "smoothed": lambda a, b: F.cross_entropy(a, Tensor([0, 1, 2, 0]), label_smoothing=0.1),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_low_predictions_are_float32(name):
    a, b = (Tensor.randn(4, 3, dtype="bfloat16", requires_grad=True) for _ in range(2))
    with autocast("bfloat16"):
        loss = LOSSES[name](a, b)
    loss.backward()
    assert (loss.dtype, a.grad.dtype) == (F32, BF16)
    assert np.isfinite(loss.item())


def test_tensors_on_several_devices():
    x = Tensor.randn(4, 4).shard(("CPU", "CPU:1"), 0)
    with autocast("bfloat16", device="CPU"):
        assert autocast.dtype_on(x.device) is BF16
        assert (x @ Tensor.randn(4, 4).shard(("CPU", "CPU:1"))).dtype is BF16


def test_an_optimiser_steps_in_float32_wherever_it_is_called():
    found = []
    for inside in (True, False):
        Tensor.manual_seed(0)
        layer = nn.Linear(4, 4)
        optimizer = nn.optim.AdamW(layer.parameters())
        with autocast("bfloat16"):
            layer(Tensor.ones(2, 4)).square().sum().backward()
        with autocast("bfloat16", enabled=inside):
            optimizer.step()
        found.append(layer.weight.numpy())
    np.testing.assert_array_equal(*found)


def test_casts_are_written_in_a_captured_module():
    with autocast("bfloat16"):
        module = adjoint.capture(lambda x: (x @ x).softmax(-1), Tensor.ones(2, 2))
    text = str(module)
    assert text.index("Cast(%0) {dtype: bf16}") < text.index("MatMul") < text.index("Softmax")
    assert "{dtype: f32}" in text


def test_running_statistics_stay_float32():
    layer = nn.BatchNorm1d(3)
    with autocast("bfloat16"):
        layer(Tensor.randn(4, 3) @ Tensor.randn(3, 3))
    assert {t.dtype for t in (layer.running_mean, layer.running_var)} == {F32}
