"""`make demo`: trains, shows the programs, writes the picture."""

import xml.etree.ElementTree as ElementTree


def test_the_demo_shows_everything(tmp_path, monkeypatch, adjoint_process):
    monkeypatch.chdir(tmp_path)
    code, out, err = adjoint_process("train", "demo")
    assert code == 0, err
    assert "accuracy on" in out
    assert "more lines" in out
    assert "outputs: %" in out
    assert "kernel " in out
    assert "100%  300/300  loss" in err
    (page,) = (tmp_path / "runs").glob("*/index.html")
    assert out.rstrip().endswith(page.as_uri())
    assert (page.parent / "data.js").read_text(encoding="utf-8").startswith("adjointRun(")
    assert ElementTree.parse(tmp_path / "digits_cnn.svg").getroot().tag.endswith("svg")
