"""`adjoint cache ls|clear`: what is kept, and that nothing else is ever removed."""

import json

import pytest

from adjoint.runtime import cache

OBJECT = "0123456789abcdef" * 4


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "cache"
    monkeypatch.setenv("ADJOINT_CACHE", "1")
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(place))
    cache.write(OBJECT, b"x" * 1000)
    cache.write("f" * 64, b"y" * 2000)
    return place


def test_ls_counts_what_is_kept(folder, adjoint_command):
    code, out, _ = adjoint_command("cache", "ls")
    assert code == 0
    assert f"{folder}: 2 objects, 3.1 kB" in out
    assert "0 s ago" in out


def test_ls_long_has_a_line_for_each(folder, adjoint_command):
    lines = adjoint_command("cache", "ls", "--long")[1].splitlines()
    assert len(lines) == 3
    assert lines[0].endswith(".obj")


def test_ls_as_json(folder, adjoint_command):
    data = json.loads(adjoint_command("cache", "ls", "--json")[1])
    assert (data["objects"], data["directory"], data["enabled"]) == (2, str(folder), True)
    assert sum(entry["bytes"] for entry in data["entries"]) == data["bytes"]


def test_clear_removes_what_is_ours_and_nothing_else(folder, adjoint_command):
    others = ["notes.txt", "model.obj", "new.new", ".hidden", "f" * 63 + ".obj"]
    for name in others:
        (folder / name).write_text("mine")
    (folder / "folder").mkdir()
    (folder / "0123abcd-77-ffff.new").write_text("unfinished")
    code, out, _ = adjoint_command("cache", "clear")
    assert (code, out.startswith("removed 2 objects, 3.1 kB")) == (0, True)
    assert sorted(p.name for p in folder.iterdir()) == sorted([*others, "folder"])


def test_clear_as_json_and_of_nothing(folder, adjoint_command):
    assert json.loads(adjoint_command("cache", "clear", "--json")[1])["objects"] == 2
    assert json.loads(adjoint_command("cache", "clear", "--json")[1])["objects"] == 0
    assert json.loads(adjoint_command("cache", "ls", "--json")[1])["entries"] == []


def test_a_cache_that_is_turned_off_is_said_to_be(folder, adjoint_command, monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE", "0")
    assert "turned off" in adjoint_command("cache", "ls")[1]
