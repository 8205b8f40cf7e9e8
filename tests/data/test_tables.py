"""`.csv` files: what is found out, and every kind of bad file."""

import gzip
import re

import numpy as np
import pytest

from adjoint.data import read_csv
from adjoint.data import table_rows as rows
from adjoint.errors import AdjointError

TABLE = "width,height,kind\n1,2.5,cat\n3,4,dog\n-5e1,6,cat\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.csv", encoding="utf-8"):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return file

    return write


def test_a_label_by_name_or_number_and_classes_in_words(write):
    for label in ("kind", 2, -1):
        data = read_csv(write(TABLE), label)
        assert data.x.tolist() == [[1, 2.5], [3, 4], [-50, 6]]
        assert data.y.tolist() == [0, 1, 0]
        assert data.feature_names == ("width", "height")
        assert data.class_names == ("cat", "dog")
        assert (data.x.dtype, data.y.dtype) == (np.float32, np.int64)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", ", ", "   "])
def test_what_separates_columns_is_found_out(write, delimiter):
    data = read_csv(write("a,b,c\n1,2,3\n4,5,6\n".replace(",", delimiter)))
    assert data.x.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("1,2\n3,4\n", False),
        ("a,b\n3,4\n", True),
        ("a,1\n3,4\n", True),
        (",b\n3,4\n", True),
        ("1,2\n", False),
    ],
)
def test_whether_there_is_a_header_is_found_out(write, content, header):
    data = read_csv(write(content))
    assert len(data) == content.count("\n") - header
    assert (data.feature_names[1] == "b") == ("b" in content)


def test_rows_of_numbers_and_words_are_no_header(write):
    data = read_csv(write("1,cat\n2,dog\n"), label=1)
    assert data.y.tolist() == [0, 1]


def test_a_header_can_be_stated(write):
    assert len(read_csv(write("1,2\n3,4\n"), header=True)) == 1
    assert read_csv(write("1,2\n3,4\n"), "2", header=True).y.tolist() == [4]


def test_labels_are_whole_or_real(write):
    assert read_csv(write("1,2\n3,4\n"), 1).y.dtype == np.int64
    assert read_csv(write("1,2\n3,4.5\n"), 1).y.dtype == np.float32
    assert read_csv(write("1,2\n3,4.5\n"), 1, dtype="float64").y.dtype == np.float64


def test_columns_are_chosen_in_the_order_asked_for(write):
    data = read_csv(write(TABLE), columns=["height", 0])
    assert data.x.tolist() == [[2.5, 1], [4, 3], [6, -50]]


def test_words_can_be_numbered(write):
    data = read_csv(write(TABLE), text="codes")
    assert data.x[:, 2].tolist() == [0, 1, 0]


def test_quoted_cells_may_hold_anything(write):
    data = read_csv(write('"a, b",c\n"1","x\n""y"""\n2,z\n'), label="c")
    assert data.feature_names == ("a, b",)
    assert data.class_names == ('x\n"y"', "z")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way_and_empty_ones_are_left_out(write, ending):
    text = ending.join(["a,b", "", "1,2", "  ", "3,4"])
    assert read_csv(write(text)).x.tolist() == [[1, 2], [3, 4]]


def test_byte_order_marks_and_other_encodings(write):
    assert read_csv(write("é,b\n1,2\n", encoding="utf-8-sig")).feature_names[0] == "é"
    for encoding in ("utf-16", "latin-1"):
        data = read_csv(write("é,b\n1,2\n", encoding=encoding), encoding=encoding)
        assert data.feature_names == ("é", "b")


def test_compressed_files_are_read(write):
    assert len(read_csv(write(gzip.compress(TABLE.encode()), "data.csv.gz"), "kind")) == 3


def test_missing_values(write):
    file = write("a,b,y\n1,,p\n2,NA,q\n?,3,p\n4,5,q\n6,7,\n")
    assert read_csv(file, "y", missing="drop").x.tolist() == [[4, 5]]
    nans = read_csv(write("a,b\n1,\nnan,2\n"), missing="nan").x
    assert np.isnan(nans).tolist() == [[False, True], [True, False]]
    assert read_csv(write("a,b\n1,\n2,3\n"), missing=-1).x.tolist() == [[1, -1], [2, 3]]


def test_a_class_of_rows_that_are_left_out_does_not_exist(write):
    data = read_csv(write("y,a\np,1\nz,\nq,2\n"), "y", missing="drop")
    assert data.class_names == ("p", "q")


BAD = [
    ("", {}, "E9003", "is empty"),
    ("\n \n\n", {}, "E9003", "is empty"),
    ("a,b\n", {}, "E9003", "header and no rows"),
    ("a,b\n1,2\n3\n", {}, "E9003", "line 3: 1 columns, not 2"),
    ("a,b\n1,2\n3,4,5\n", {}, "E9003", "line 3: 3 columns, not 2"),
    ("a,b\n1,2\n\n3,x\n", {}, "E9003", r"line 4, column 2 \('b'\): 'x' is not a number"),
    ("1,2\n3,4_000\n", {}, "E9003", "line 2, column 2: '4_000' is not a number"),
    ("a;b\n1,5;2\n3,5;4\n", {}, "E9003", r"line 2, column 1 \('a'\): '1,5' is not a number"),
    ("a,b\n1,2\n3,\n", {}, "E9003", r"line 3, column 2 \('b'\): the value is missing"),
    ("a,y\n1,p\n3,\n", {"label": "y", "missing": "nan"}, "E9003", "line 3, column 2"),
    ("a,b\n,1\n,2\n", {"missing": "drop"}, "E9003", "missing in every row"),
    (TABLE, {"label": "knd"}, "E9003", "no column 'knd'"),
    (TABLE, {"label": 3}, "E9003", "column 3 of 3"),
    ("1,2\n3,4\n", {"label": "y"}, "E9003", "no header to find 'y'"),
    ("y,y\n1,2\n", {"label": "y"}, "E9003", "has 2 columns 'y'"),
    ("y\n1\n", {"label": "y"}, "E9003", "one column, the label"),
    (TABLE, {"columns": ["width", "depth"]}, "E9003", "no column 'depth'"),
    (TABLE, {"delimiter": "::"}, "E9003", "one character"),
    (TABLE, {"missing": "drip"}, "E9003", "missing is 'drip'"),
    (TABLE, {"text": 3}, "E9003", "text is 3"),
    (TABLE, {"limit": 10}, "E9003", "more than 10 characters"),
    ('a,b\n1,"2\n3,4\n', {}, "E9003", "quotation mark"),
    ("a,b\n1,2\n3,1e300\n", {}, "E9003", "column 2: 1e\\+300 does not fit float32"),
    (TABLE, {"encoding": "klingon"}, "E9006", "no encoding 'klingon'"),
    (b"a,b\n1,2\n3,\xe9\n", {}, "E9006", "line 3, byte 3 is not utf-8"),
    ("a,b\n1,2\n".encode("utf-16"), {}, "E9006", "encoding='utf-16' may be right"),
    (b"\x00\x01\x02\xff" * 100, {}, "E9006", "line 1, byte 4 is not utf-8"),
]


@pytest.mark.parametrize(("content", "settings", "code", "match"), BAD)
def test_a_bad_file_is_an_error_that_says_where(write, content, settings, code, match):
    with pytest.raises(AdjointError, match=match) as caught:
        read_csv(write(content), **settings)
    assert caught.value.code == code
    line = re.search(r"line (\d+)", str(caught.value))
    if line and "more than" not in match:
        assert caught.value.span.line == int(line[1])


def test_a_file_that_is_not_there_has_a_likely_neighbour(write):
    file = write(TABLE)
    with pytest.raises(AdjointError, match=r"did you mean 'data\.csv'") as caught:
        read_csv(file.with_name("dta.csv"))
    assert caught.value.code == "E9006"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(AdjointError, match="is a folder") as caught:
        read_csv(tmp_path)
    assert caught.value.code == "E9006"


def test_a_file_that_may_not_be_read(write, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(rows, "_binary", refuse)
    with pytest.raises(AdjointError, match="cannot be opened") as caught:
        read_csv(write(TABLE))
    assert caught.value.code == "E9006"


@pytest.mark.parametrize("cut", [5, 15, 40])
def test_a_compressed_file_that_was_cut_is_an_error(write, cut):
    whole = gzip.compress(("a,b\n" + "1,2\n" * 5000).encode())
    with pytest.raises(AdjointError) as caught:
        read_csv(write(whole[:cut], "data.csv.gz"))
    assert caught.value.code == "E9001"


def test_a_line_without_an_end_takes_bounded_memory(write, monkeypatch):
    monkeypatch.setattr(rows, "_LONGEST", 1000)
    with pytest.raises(AdjointError, match="a line without an end") as caught:
        read_csv(write("1" * 5000))
    assert caught.value.code == "E9003"


def test_a_cell_without_an_end_takes_bounded_memory(write):
    with pytest.raises(AdjointError, match="line 2") as caught:
        read_csv(write('a,b\n1,"' + "2" * 200_000 + "\n"))
    assert caught.value.code == "E9003"
