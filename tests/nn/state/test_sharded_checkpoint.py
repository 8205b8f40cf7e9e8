"""Checkpoints in parts: written from one mesh, read on another, damaged in every way."""

import json

import numpy as np
import pytest

from adjoint import FileError, Mesh, P, Tensor, nn
from adjoint.nn.state import load_checkpoint, save_checkpoint
from adjoint.training import Loop
from tests.nn.parallel_training import Run, mesh_of


class Model(nn.Module):
    def __init__(self, mesh=None, spec=None):
        rows = np.arange(42, dtype=np.float32).reshape(7, 6)
        self.weight = Tensor(rows, device="REF").requires_grad_()
        self.count = Tensor([3], dtype="int64", device="REF").requires_grad_(False)
        self.scale = Tensor(2.5, dtype="bfloat16", device="REF").requires_grad_()
        if mesh is not None:
            self.weight.shard_(mesh, spec)
            self.scale.shard_(mesh, P())


def mesh(a, b):
    return Mesh({"x": a, "y": b}, None, [f"REF:{i}" for i in range(a * b)])


LAYOUTS = [
    (None, P()),
    (mesh(2, 1), P("x")),
    (mesh(2, 2), P("x", "y")),
    (mesh(2, 2), P(None, ("x", "y"))),
    (mesh(3, 1), P("x")),
    (mesh(8, 1), P("x")),
    (mesh(2, 2), P()),
]


@pytest.mark.parametrize("saved", LAYOUTS, ids=str)
@pytest.mark.parametrize("wanted", LAYOUTS[:4], ids=str)
def test_a_model_is_saved_on_one_mesh_and_loaded_on_another(tmp_path, saved, wanted):
    model, other = Model(*saved), Model(*wanted)
    other.weight.assign(other.weight * 0)
    other.count.assign(other.count * 0)
    save_checkpoint(f"{tmp_path}/run/", step=5, extra={"note": 1}, model=model)
    found = load_checkpoint(tmp_path / "run", model=other)
    assert (found.step, found.extra) == (5, {"note": 1})
    assert other.weight.numpy().tolist() == np.arange(42).reshape(7, 6).tolist()
    assert (other.count.item(), float(other.scale.item())) == (3, 2.5)
    layout = other.weight.sharding
    assert (layout is None) if wanted[0] is None else (layout.spec == wanted[1])


def test_files_are_safetensors_that_hold_every_element_once(tmp_path):
    save_checkpoint(f"{tmp_path}/run/", step=0, model=Model(mesh(2, 2), P("x")))
    (file,) = (tmp_path / "run").glob("*-00001-of-00001.safetensors")
    held = nn.state.safe_load(file)
    assert {name: tuple(t.shape) for name, t in held.items()} == {
        "model.weight": (4, 6),
        "model.weight@4,0": (3, 6),
        "model.count": (1,),
        "model.scale": (),
    }


def test_a_new_checkpoint_takes_the_place_of_the_old(tmp_path):
    model, folder = Model(), tmp_path / "run"
    save_checkpoint(f"{folder}/", step=1, model=model)
    save_checkpoint(folder, step=2, model=model)  # it is one, so it stays one
    assert load_checkpoint(folder, model=model).step == 2
    assert len(list(folder.iterdir())) == 2


def test_what_was_written_halfway_changes_nothing(tmp_path, monkeypatch):
    model, folder = Model(), tmp_path / "run"
    save_checkpoint(f"{folder}/", step=1, model=model)
    monkeypatch.setattr("adjoint.nn.state.sharded_checkpoint._write_index", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(folder, step=2, model=model)
    assert load_checkpoint(folder, model=model).step == 1


def _interrupted(*given):
    raise KeyboardInterrupt


def _cut(folder):
    file = next(folder.glob("*.safetensors"))
    file.write_bytes(file.read_bytes()[:-5])


def _flip(folder):
    file = next(folder.glob("*.safetensors"))
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(bytes(raw))


def _other_index(folder):
    file = folder / "index.json"
    whole = json.loads(file.read_text())
    whole["checkpoint"] = whole["checkpoint"].replace('"begin": [4', '"begin": [3')
    file.write_text(json.dumps(whole))


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (_cut, "E9001"),
        (_flip, "E9001"),
        (_other_index, "E9001"),
        (lambda folder: (folder / "index.json").write_text("{}"), "E9001"),
        (lambda folder: (folder / "index.json").unlink(), "E9006"),
        (lambda folder: next(folder.glob("*.safetensors")).unlink(), "E9006"),
    ],
)
def test_damage_is_found_and_changes_nothing(tmp_path, damage, code):
    folder, model = tmp_path / "run", Model(mesh(2, 1), P("x"))
    save_checkpoint(f"{folder}/", step=1, model=model)
    damage(folder)
    other = Model()
    other.weight.assign(other.weight * 0)
    with pytest.raises(FileError) as caught:
        load_checkpoint(folder, model=other)
    assert caught.value.code == code
    assert not other.weight.numpy().any()


def test_a_file_in_the_way_is_told(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(FileError, match="E9006") as caught:
        save_checkpoint(f"{tmp_path}/run/", step=1, model=Model())
    assert "cannot make the folder" in str(caught.value)


def test_a_loop_saves_to_a_folder_and_goes_on(tmp_path):
    folder = f"{tmp_path}/run/"
    for _ in Loop(2, model=Model(), checkpoint=folder, quiet=True):
        pass
    for _ in Loop(3, model=Model(), checkpoint=folder, quiet=True):
        pass
    again = Loop(5, model=Model(), resume=folder, quiet=True)
    assert list(again) == [3, 4]


@pytest.mark.slow
@pytest.mark.parametrize(("first", "then"), [("dp=2", "dp=4"), ("dp=2", "dp=1")])
def test_a_run_goes_on_with_the_same_bits_on_another_mesh(tmp_path, first, then):
    whole = Run("", mesh_of(first)).losses(4)
    run = Run("", mesh_of(first))
    run.losses(2)
    run.save(f"{tmp_path}/run/", 2)
    other = Run("", mesh_of(then))
    assert other.resume(tmp_path / "run") == 2
    assert other.losses(4, 2) == whole[2:]


def test_matrices_of_an_attention_are_one_or_three(tmp_path):
    packed, unpacked = nn.MultiheadAttention(8, 2), nn.MultiheadAttention(8, 2)
    unpacked.unpack()
    save_checkpoint(tmp_path / "a.ckpt", step=0, attention=packed)
    load_checkpoint(tmp_path / "a.ckpt", attention=unpacked)
    same = unpacked.in_proj_weight.reshape(24, 8) == packed.in_proj_weight
    assert bool(same.all().item())
    save_checkpoint(tmp_path / "b.ckpt", step=0, attention=unpacked)
    load_checkpoint(tmp_path / "b.ckpt", attention=packed)
