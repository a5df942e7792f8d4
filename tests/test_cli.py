import csv
import sys

import matplotlib.image
import numpy as np
import pytest

import ramify
from ramify.cli import main


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return header, rows


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    assert main(["demo", "--out", str(out)]) == 0
    return out


def test_demo_writes_its_four_files(demo):
    assert sorted(p.name for p in demo.iterdir()) == [
        "centers.csv",
        "embedding.csv",
        "tree.csv",
        "tree.png",
    ]


def test_demo_tables_fit_together(demo):
    header, samples = read(demo / "embedding.csv")
    assert header == ["sample", "diagnosis", "ddrtree0", "ddrtree1", "center"]
    assert len(samples) == 569
    assert {row[1] for row in samples} == {"benign", "malignant"}
    header, centers = read(demo / "centers.csv")
    assert header == ["center", "ddrtree0", "ddrtree1"]
    header, edges = read(demo / "tree.csv")
    assert header == ["source", "target", "length"]
    assert len(edges) == len(centers) - 1
    assert {int(row[4]) for row in samples} <= set(range(len(centers)))
    positions = np.array(centers, dtype=float)[:, 1:]
    for source, target, length in edges:
        distance = np.linalg.norm(positions[int(source)] - positions[int(target)])
        assert float(length) == pytest.approx(distance)


def test_demo_tree_separates_the_diagnoses(demo):
    """Most centres hold tumours of one kind only."""
    _, samples = read(demo / "embedding.csv")
    kinds = {}
    for _, diagnosis, _, _, center in samples:
        kinds.setdefault(center, []).append(diagnosis)
    agreeing = sum(max(v.count("benign"), v.count("malignant")) for v in kinds.values())
    assert agreeing / len(samples) > 0.9


def test_demo_picture_is_not_empty(demo):
    picture = matplotlib.image.imread(demo / "tree.png")
    assert picture.shape[0] > 500
    assert picture.std() > 0.05


def test_demo_prints_a_summary(tmp_path, capsys):
    main(["demo", "-o", str(tmp_path)])
    out, err = capsys.readouterr()
    assert err == ""
    assert [line.split()[0] for line in out.splitlines()] == [
        "data",
        "tree",
        "branches",
        "objective",
        "time",
        "written",
    ]
    assert "569 tumours x 30" in out
    assert len(out.splitlines()) == 6


def test_demo_names_only_what_it_wrote(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    main(["demo", "-o", str(tmp_path)])
    assert "notes.txt" not in capsys.readouterr().out
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_demo_into_a_file_fails_with_one_line(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main(["demo", "-o", str(tmp_path / "taken")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ramify: ")
    assert len(err.splitlines()) == 1


def test_demo_without_matplotlib_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "-o", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "ramify: the picture needs matplotlib; run: pip install 'ramify[plot]'\n"
    )


def test_wrong_usage_exits_with_two(capsys):
    for arguments in ([], ["grow"], ["demo", "--nonsense"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        assert "usage: ramify" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"ramify {ramify.__version__}\n"
