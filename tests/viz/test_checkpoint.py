"""Checkpoints as tables: every format that can be loaded, whatever the file is called."""

import numpy as np
import pytest

from adjoint import FileError, Tensor, nn, view
from adjoint.nn.state import safe_save, save_checkpoint
from adjoint.viz.checkpoint import is_checkpoint
from tests.nn.state.gguf_writer import gguf_bytes
from tests.nn.state.torch_writer import tensor, torch_bytes

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)


def rows(path):
    made = view(path, show=False)
    assert made.title == path.name
    return made.data["table"]["rows"]


def test_what_training_saves_is_a_table_in_a_file_and_in_a_folder(tmp_path):
    model = nn.Linear(3, 2)
    for path in (tmp_path / "run.ckpt", tmp_path / "folder"):
        save_checkpoint(f"{path}/" if path.name == "folder" else path, step=3, model=model)
        assert is_checkpoint(path)
        found = {name: row for name, *row in rows(path)}
        assert found["model.weight"] == ["F32", [2, 3], 6, 24]


def test_a_file_is_known_by_what_is_in_it(tmp_path):
    path = tmp_path / "weights.bin"
    safe_save({"a": Tensor.ones(2, 3)}, path)
    assert is_checkpoint(path)
    assert rows(path) == [["a", "F32", [2, 3], 6, 24]]


def test_files_of_gguf_are_tables(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf_bytes({"w": WEIGHT}, {"general.name": (8, "small")}))
    assert is_checkpoint(path)
    assert rows(path) == [["w", "f32", [2, 3], 6, 24]]
    assert view(path, show=False).data["table"]["metadata"] == {"general.name": "small"}


def test_files_of_torch_are_tables(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(torch_bytes({"net": {"weight": tensor(WEIGHT)}, "epoch": 3}))
    assert is_checkpoint(path)
    assert rows(path) == [["net.weight", "f32", [2, 3], 6, 24]]


def test_what_is_none_is_told(tmp_path):
    for content in (b"", b"PK", b"\0" * 40, b"print(1)\n", bytes(range(256))):
        path = tmp_path / "file"
        path.write_bytes(content)
        assert not is_checkpoint(path)
        with pytest.raises(FileError):
            view(path, show=False)
    assert not is_checkpoint(tmp_path)
    assert not is_checkpoint(tmp_path / "nothing")
