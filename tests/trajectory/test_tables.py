"""The small table that a notebook shows of a trajectory."""

from html.parser import HTMLParser

import numpy as np

from branchwise.trajectory import Trajectory

FORK = ([[0, 1], [1, 2], [1, 3]], np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [2.0, 3.0]]))


class Reader(HTMLParser):
    """Cells in order, and the tags that were opened; every tag must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


def facts(found):
    caption, *cells = Reader(found._repr_html_()).cells
    assert caption == "Trajectory"
    return dict(zip(cells[::2], cells[1::2], strict=True))


def test_a_table_of_the_main_facts():
    assert facts(Trajectory(*FORK)) == {
        "samples": "4",
        "branches": "3",
        "tips": "3",
        "forks": "1",
        "root": "T1",
        "length": "7",
    }


def test_several_roots_and_parts():
    path = Trajectory([[0, 1], [1, 2], [3, 4]], np.arange(10.0).reshape(5, 2)).rooted(node=1)
    shown = facts(path)
    assert shown["root"] == "R1, T3"
    assert (shown["branches"], shown["tips"], shown["forks"]) == ("3", "4", "0")


def test_a_ring_has_neither_tips_nor_forks():
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    edges = np.column_stack([np.arange(12), (np.arange(12) + 1) % 12])
    shown = facts(Trajectory(edges, np.column_stack([np.cos(angle), np.sin(angle)])))
    assert (shown["tips"], shown["forks"], shown["root"]) == ("0", "0", "R1")


def test_only_a_table_and_plain_text():
    text = Trajectory(*FORK)._repr_html_()
    assert type(text) is str
    tags = {"table", "caption", "tbody", "tr", "th", "td"}
    assert set(Reader(text).tags) == tags
    assert len(text) < 2000


def test_names_are_escaped(monkeypatch):
    hostile = "<script>alert('&')</script>"
    monkeypatch.setattr("branchwise.trajectory.tables.listed", lambda names: hostile)
    found = Trajectory(*FORK)
    assert "<script" not in found._repr_html_()
    assert facts(found)["root"] == hostile
