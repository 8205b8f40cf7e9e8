"""The gallery has every example with its curve; pictures of guides are what the program says."""

import xml.etree.ElementTree as ElementTree

import pytest

from docs import build_gallery, guide_pictures


@pytest.mark.parametrize("name", build_gallery.names())
def test_an_example_is_in_the_gallery_with_its_curve(name):
    text = build_gallery.PAGE.read_text(encoding="utf-8")
    assert f"## {name}\n\n{build_gallery.about(name)}\n" in text, "run `make gallery`"
    root = ElementTree.parse(build_gallery.PICTURES / f"{name}.svg").getroot()
    assert [node for node in root if node.tag.endswith("polyline")]


def test_there_is_no_curve_of_an_example_that_is_gone():
    kept = {file.stem for file in build_gallery.PICTURES.iterdir()}
    assert kept == set(build_gallery.names())


@pytest.mark.parametrize("name", ["gradient.svg", "fusion.svg"])
def test_pictures_of_guides_are_what_the_program_says(name):
    kept = (guide_pictures.PICTURES / name).read_text(encoding="utf-8")
    assert kept == guide_pictures.pictures()[name], "run `make docs`"
