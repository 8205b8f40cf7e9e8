"""Files written by torch itself; run with an interpreter that has it: `torch_samples.py FOLDER`."""

import json
import sys
from pathlib import Path

import torch

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128"
DTYPES += " uint16 uint32 uint64 float8_e4m3fn float8_e5m2"


def tensors():
    """Tensors by name, of every dtype and of every kind of view."""
    base = torch.arange(24).reshape(2, 3, 4) % 2
    found = {name: base.to(getattr(torch, name)) for name in DTYPES.split()}
    floats = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    found |= {"transposed": floats.permute(2, 0, 1), "slice": floats[:, 1:, ::2]}
    found |= {"expanded": floats[0, 0, :1].expand(3), "scalar": floats[1, 1, 1]}
    found |= {"empty": floats[:0], "conjugate": torch.tensor([1 + 2j]).conj()}
    found |= {"negative": torch.tensor([1 + 2j]).conj().imag}
    return found | {"parameter": torch.nn.Parameter(floats)}


def trained():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimiser = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, [2, 4])
    model(torch.ones(2, 3)).sum().backward()
    optimiser.step()
    schedule.step()
    states = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
    return states | {"schedule": schedule.state_dict(), "epoch": 3}


def main(folder):
    made = tensors()
    for protocol in (2, 4, 5):
        torch.save(made, folder / f"tensors{protocol}.pt", pickle_protocol=protocol)
    states = trained()
    torch.save(states, folder / "states.pt")
    torch.save(torch.nn.Linear(2, 2), folder / "module.pt")
    torch.save(made["float32"], folder / "legacy.pt", _use_new_zipfile_serialization=False)
    values = {n: [str(t.dtype), list(t.shape), listed(t)] for n, t in made.items()}
    weights = {n: listed(t) for n, t in states["model"].items()}
    (folder / "values.json").write_text(json.dumps({"tensors": values, "weights": weights}))


def listed(tensor):
    """Every element as the text of a float or a complex number."""
    wide = tensor.detach().to(torch.complex128).reshape(-1)
    return [[part.real, part.imag] for part in wide.tolist()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
