"""Line ends of every kind, also within cells, in every encoding: Python's csv module is right."""

import csv
import gzip
import io
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise._messages import for_command_line
from branchwise.io import InputError, read_table
from branchwise.io import text as text_module

ENDS = ("\n", "\r\n", "\r")
CELLS = st.text('ab ,"\n\r\t;', max_size=4)


@pytest.mark.parametrize("end", ENDS)
@given(cells=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5), is_last=st.booleans())
def test_cells_come_back_whatever_lines_end_with(tmp_path_factory, end, cells, is_last):
    # A word at the end, so that no cell is missing, or looks like a number.
    rows = [
        ["name", "x", "v", "w"],
        *([f"r{k}", k, f"{a}w", f"{b}w"] for k, (a, b) in enumerate(cells)),
    ]
    quoted = [[f'"{str(cell).replace(chr(34), 2 * chr(34))}"' for cell in row] for row in rows]
    text = end.join(",".join(row) for row in quoted) + end * is_last
    path = tmp_path_factory.mktemp("ends") / "a.csv"
    path.write_bytes(text.encode())
    wanted = list(csv.reader(io.StringIO(text, newline="")))[1:]
    table = read_table(path)
    assert table.annotations["v"].tolist() == [row[2] for row in wanted]
    assert table.annotations["w"].tolist() == [row[3] for row in wanted]
    np.testing.assert_array_equal(table.X[:, 0], np.arange(len(cells)))


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("inner", list(itertools.product(ENDS, repeat=2)), ids=repr)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_within_cells(tmp_path, monkeypatch, end, inner, pack):
    # Blanks at the beginning of a line, too: the parser read these lines twice.
    rows = [f'"i{inner[0]}d",x,"t"', f' p,1,"a{inner[0]}b"', f'"q{inner[1]}",2.5," {inner[1]}"']
    rows += ["r,3,c"] * 5000
    text = end.join(rows)
    path = tmp_path / ("a.csv.gz" if pack is gzip.compress else "a.csv")
    path.write_bytes(pack(text.encode()))
    header, *wanted = csv.reader(io.StringIO(text, newline=""))
    table = read_table(path)
    np.testing.assert_array_equal(table.X[:, 0], [float(row[1]) for row in wanted])
    assert table.annotations["t"].tolist() == [row[2] for row in wanted]
    assert table.annotations[header[0]].tolist() == [row[0] for row in wanted]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8", "UTF8"])
def test_text_in_another_encoding(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes("größe,ort,plz\n1,Köln,07766\n2,Mäcon,12345\n".encode(encoding))
    table = read_table(path, encoding=encoding)
    assert table.features == ["größe"]
    assert table.annotations["ort"].tolist() == ["Köln", "Mäcon"]
    assert table.annotations["plz"].tolist() == ["07766", "12345"]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("n_before", [0, 1, 30_000])
def test_undecodable_text_is_told_with_its_line_and_the_option(tmp_path, end, n_before):
    path = tmp_path / "a.csv"
    path.write_bytes(end.join(["a,ort", *["1,x"] * n_before, "2,Köln", ""]).encode("latin-1"))
    where = rf"line {n_before + 2} of .*a\.csv is not"
    said = r"read it with encoding='latin-1' or encoding='cp1252', or save the file as UTF-8"
    with pytest.raises(InputError, match=f"{where} UTF-8 text .*; {said}"):
        read_table(path)
    said = "read it with --encoding latin-1 or --encoding cp1252, or save the file as UTF-8"
    with pytest.raises(InputError, match=f"{where} UTF-8 text .*; {said}"), for_command_line():
        read_table(path)
    said = "text in the encoding ascii; name another one by encoding, or"
    with pytest.raises(InputError, match=f"{where} {said}"):
        read_table(path, encoding="ascii")


def test_text_of_two_bytes_is_told_with_the_option(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(InputError, match=r"is UTF-16 text; read it with encoding='utf-16', or"):
        read_table(path)
    said = "is UTF-16 text; read it with --encoding utf-16, or save"
    with pytest.raises(InputError, match=said), for_command_line():
        read_table(path)


@pytest.mark.parametrize("name", ["latin-11", "rot13", "base64"])
def test_an_encoding_that_is_none(tmp_path, name):
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=f"encoding='{name}' is not the name of an encoding"):
        read_table(tmp_path / "a.csv", encoding=name)


def test_an_encoding_is_for_text(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(InputError, match=r"encoding='latin-1' is for text \(.csv, .tsv, .txt\)"):
        read_table(tmp_path / "a.npy", encoding="latin-1")


def test_half_a_character_at_the_end_of_a_piece():
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 1) if size > 0 else size)

    characters = text_module.Characters(Slow("ä€\U0001f600".encode()), "utf-8", ord(","))
    assert "".join(iter(lambda: characters.read(9), "")) == "ä€\U0001f600"
