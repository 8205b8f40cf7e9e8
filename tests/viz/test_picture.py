"""Graphs as SVG and DOT."""

import xml.etree.ElementTree as ElementTree
from itertools import chain

import pytest

import adjoint
from adjoint import Tensor, nn, view
from adjoint.viz.layout import columns_of, placed
from adjoint.viz.picture import dot, svg
from tests.viz.programs import long_chain, softmax_loss

MARKUP = '</text><script>alert(1)</script>"; digraph { \\" \x00\x1b'


@pytest.fixture(scope="module")
def seen():
    fn = adjoint.value_and_grad(softmax_loss)
    return view(fn, Tensor.ones(2, 3), Tensor.ones(3, 4), show=False)


def test_a_drawing_has_every_node_and_line(seen):
    root = ElementTree.fromstring(seen.svg())
    space = "{http://www.w3.org/2000/svg}"
    texts = [t.text for t in root.iter(f"{space}text")]
    assert {"x", "w", "softmax", "contract"} <= set(texts)
    assert len(list(root.iter(f"{space}rect"))) * 2 == len(texts)
    assert len(list(root.iter(f"{space}path"))) >= len(texts) / 2 - 2


def test_forward_and_backward_have_colours_of_their_own(seen):
    assert "#fde3cf" in seen.svg()
    assert "#dbe9fb" in seen.dot()


def test_boxes_of_a_column_do_not_overlap_and_lines_go_right(seen):
    edges = [(0, 2), (1, 2), (2, 3), (0, 3), (3, 4)]
    places, width, height = placed([50, 90, 40, 60, 70], edges)
    assert all(places[a][0] < places[b][0] for a, b in edges)
    assert all(0 < x < width and 0 < y < height for x, y in places)
    assert len(set(places)) == 5


def test_boxes_in_a_circle_are_drawn():
    assert sorted(chain(*columns_of(3, [(0, 1), (1, 2), (2, 0)]))) == [0, 1, 2]


def test_dot_is_balanced_and_has_a_line_for_each_edge(seen):
    text = seen.dot()
    assert text.startswith("digraph")
    assert text.count("{") == text.count("}")
    assert "->" in text


def test_hostile_names_stay_inside_their_quotes(seen):
    graph = dict(seen.data["graphs"][0])
    graph["name"] = MARKUP
    graph["nodes"] = [[MARKUP, MARKUP, *row[2:]] for row in graph["nodes"]]
    root = ElementTree.fromstring(svg(graph))  # well formed, whatever it says
    assert not [e for e in root.iter() if e.tag.endswith("script")]
    for line in dot(graph).splitlines():
        plain = line.replace("\\\\", "").replace('\\"', "")
        assert plain.count('"') % 2 == 0


def test_a_drawing_of_many_nodes_ends():
    text = view(long_chain(8000), show=False).svg()
    assert text.count("<rect") == 3000


def test_a_table_has_no_drawing():
    made = view(nn.Linear(2, 3), show=False)
    assert [row[0] for row in made.data["table"]["rows"]] == ["weight", "bias"]
    with pytest.raises(adjoint.ArgumentError, match="no graph"):
        made.svg()
