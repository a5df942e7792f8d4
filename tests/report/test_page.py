"""The page as HTML: whole, closed to others, and unmoved by what users call things."""

import base64
import hashlib
import pkgutil
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from branchwise.report import page, read_report, report_html, write_report
from branchwise.report.content import report_state
from branchwise.trajectory import Trajectory

FORK = ([[0, 1], [1, 2], [1, 3]], np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [2.0, 3.0]]))
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "</title><h1>&lt;&amp;\"'`",
    "<!--",
    "a\0b\x1b[31m",
    "half \ud800 of a pair",
    "\u202eright to left",
    "{{constructor}} ${x} %s {0}",
    "__proto__",
]


class Reader(HTMLParser):
    """Tags with their attributes, and the text within each."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])
        if tag not in {"meta", "html", "head", "body"}:
            self.open.append(len(self.found) - 1)

    def handle_endtag(self, tag):
        if tag not in {"html", "head", "body"}:
            assert self.found[self.open.pop()][0] == tag

    def handle_data(self, data):
        if self.open:
            self.found[self.open[-1]][2] += data

    def of(self, tag):
        return [(attributes, text) for name, attributes, text in self.found if name == tag]


def hashed(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_one_program_one_style_and_the_data(static):
    html = report_html(Trajectory(*FORK), title="A fork")
    assert html.startswith('<!doctype html>\n<html lang="en">')
    assert "\r" not in html
    found = Reader(html)
    tags = "html head meta meta meta meta title style body noscript div script script"
    assert [tag for tag, *_ in found.found] == tags.split()
    [(_, title)], [(_, style)] = found.of("title"), found.of("style")
    assert title == "A fork"
    (about_data, _), (about_program, program) = found.of("script")
    assert about_data == {"type": "application/octet-stream", "id": "branchwise-data"}
    assert about_program == {}
    assert (style, program) == (static["report.css"], static["report.js"])


def test_the_policy_allows_the_built_files_and_nothing_else(static):
    found = Reader(report_html(Trajectory(*FORK)))
    metas = [attributes for attributes, _ in found.of("meta")]
    assert {"charset": "utf-8"} in metas
    assert {"name": "referrer", "content": "no-referrer"} in metas
    [policy] = [m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy == (
        f"default-src 'none'; script-src '{hashed(static['report.js'])}'; style-src "
        f"'{hashed(static['report.css'])}'; img-src blob: data:; base-uri 'none'; "
        "form-action 'none'"
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_and_labels_cannot_leave_their_places(text, static, tmp_path):
    plain = Reader(report_html(Trajectory(*FORK)))
    path = Trajectory(*FORK, names=[text, "b", "c", "d"])
    annotations = pd.DataFrame({text: [text, "x", None, "x"], "more": ["x", text, "y", "z"]})
    options = {
        "features": np.arange(8.0).reshape(4, 2),
        "feature_names": [f"{text}2", "other"],
        "annotations": annotations,
        "title": text,
        "facts": {text: [text]},
        "notes": [text],
        "color": text,
    }
    html = report_html(path, **options)
    found = Reader(html)
    assert [tag for tag, *_ in found.found] == [tag for tag, *_ in plain.found]
    assert [a for _, a, _ in found.found] == [a for _, a, _ in plain.found]
    [(_, title)] = found.of("title")
    assert title == page.visible(text)
    write_report(tmp_path / "page.html", path, **options)
    state = read_report(tmp_path / "page.html")
    assert state["title"] == text
    assert state["samples"]["ids"][0] == text
    assert state["columns"][0]["name"] == text
    assert text in state["columns"][0]["labels"]
    assert state["facts"][text] == [text]


def test_equal_results_give_equal_bytes(static, tmp_path):
    for name in ("one", "other"):
        write_report(tmp_path / name, Trajectory(*FORK), annotations={"a": [1, 2, 3, 4]})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_page_is_written_whole_or_not_at_all(static, tmp_path, monkeypatch):
    write_report(tmp_path / "page.html", Trajectory(*FORK))
    before = (tmp_path / "page.html").read_bytes()
    with pytest.raises(ValueError, match="color='age' is not a column of this page"):
        write_report(tmp_path / "page.html", Trajectory(*FORK), color="age")
    assert (tmp_path / "page.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def built(monkeypatch, tmp_path, **texts):
    (tmp_path / "static").mkdir()
    for name, text in texts.items():
        (tmp_path / "static" / f"report.{name}").write_bytes(text.encode())
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)


def test_ends_of_lines_are_those_that_a_browser_hashes(monkeypatch, tmp_path):
    built(monkeypatch, tmp_path, js="a;\r\nb;\rc;\n", css="p {}\r\n")
    html = page.render(report_state(Trajectory(*FORK)))
    assert "<script>a;\nb;\nc;\n</script>" in html
    assert hashed("a;\nb;\nc;\n") in html
    assert hashed("p {}\n") in html


@pytest.mark.parametrize("text", ['"</script>"', '"</SCRIPT"', "x <!-- y", '"\0"'])
def test_programs_that_would_end_their_tag_are_refused(text, monkeypatch, tmp_path):
    built(monkeypatch, tmp_path, js=text, css="")
    with pytest.raises(
        ValueError, match=r"static/report\.js holds .*, which cannot stand in a page"
    ):
        page.render(report_state(Trajectory(*FORK)))


def test_styles_that_would_end_their_tag_are_refused(monkeypatch, tmp_path):
    built(monkeypatch, tmp_path, js="", css="</style>")
    with pytest.raises(ValueError, match=r"static/report\.css holds '</style', which cannot"):
        page.render(report_state(Trajectory(*FORK)))


def test_a_page_that_was_not_built(monkeypatch, tmp_path):
    built(monkeypatch, tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"static/report\.css, a part of every report, is not"
    ):
        page.render(report_state(Trajectory(*FORK)))


def test_the_javascript_names_python_that_exists():
    sources = Path(__file__).parents[2] / "web" / "src"
    text = "\n".join(path.read_text("utf-8") for path in sources.rglob("*.js"))
    twins = set(re.findall(r"branchwise(?:\.[a-z]\w*)+", text)) - {"branchwise.js"}
    assert len(twins) >= 8
    for name in twins:
        pkgutil.resolve_name(name)
