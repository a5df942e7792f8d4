import json

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from branchwise import load
from branchwise.cli import plot
from branchwise.metrics import loo_1nn


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("embedding", ["--color", "stage", "pseudotime"]),
        ("embedding", ["--root", "T2"]),
        ("layout", ["--root", "sample=P010"]),
        ("layout", ["--root", "stage=late"]),
        ("branches", ["--color", "stage"]),
        ("adjacency", []),
        ("convergence", []),
        ("trends", ["--feature", "lab0", "lab3"]),
        ("trends", ["--feature", "age"]),
        ("trends", []),
        ("heatmap", []),
    ],
    ids=[
        "embedding",
        "rooted",
        "sample",
        "label",
        "branches",
        "adjacency",
        "convergence",
        "trends",
        "trend of an annotation",
        "most trends",
        "heatmap",
    ],
)
def test_every_kind_is_drawn(kind, given, fitted, tmp_path, branchwise):
    out = tmp_path / "picture.png"
    code, text, err = branchwise("plot", fitted, "--kind", kind, *given, "-o", out, "--dpi", "50")
    assert (code, err) == (0, "")
    assert text == f"{kind} drawn in {out}\n"
    assert matplotlib.image.imread(out)[..., :3].std() > 0.02


@pytest.fixture
def figures(monkeypatch):
    """The figures that a command writes."""
    found = []
    real = plot.save_figure

    def keep(figure, *given):
        found.append(figure)
        real(figure, *given)

    monkeypatch.setattr(plot, "save_figure", keep)
    return found


def test_trends_are_one_figure_with_one_legend_that_tells_the_support(
    fitted, tmp_path, branchwise, figures
):
    out = tmp_path / "trends.png"
    assert branchwise("plot", fitted, "--kind", "trends", "-o", out)[0] == 0
    (figure,) = figures
    assert len(figure.axes) == 4
    assert sum(ax.get_xlabel() == "pseudotime" for ax in figure.axes) == 2
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "branch (samples, support)"
    branches = pd.read_csv(fitted / "branches.csv", index_col=0)
    texts = [text.get_text() for text in legend.get_texts()]
    for name, row in branches.iterrows():
        assert f"{name} ({row.n_samples:.0f}, {100 * row.support:.0f} %)" in texts


def test_trends_of_a_tip_have_its_branches_alone(fitted, tmp_path, branchwise, figures):
    given = ("--feature", "lab0", "--to", "T2", "-o", tmp_path / "trends.png")
    assert branchwise("plot", fitted, "--kind", "trends", *given)[0] == 0
    (ax,) = figures[0].axes
    branches = pd.read_csv(fitted / "branches.csv")
    assert 0 < len(ax.lines) < len(branches)


def test_a_heat_map_shows_all_tips_or_the_one_that_is_named(fitted, tmp_path, branchwise, figures):
    milestones = pd.read_csv(fitted / "milestones.csv", index_col=0)
    tips = [name for name in milestones.query("~is_root").index if name.startswith("T")]
    assert 1 < len(tips) <= 4
    for given, expected in (([], [f"to {tip}" for tip in tips]), (["--to", "T2"], ["to T2"])):
        out = tmp_path / "heatmap.png"
        done = branchwise("plot", fitted, "--kind", "heatmap", *given, "-o", out, "--force")
        assert done[0] == 0
        titles = [ax.get_title() for ax in figures[-1].axes[:-1]]  # the last is the colour bar
        assert sorted(titles) == sorted(expected if len(expected) > 1 else [""])


def test_a_heat_map_of_more_than_four_tips_says_so(monkeypatch, fitted, tmp_path, branchwise):
    monkeypatch.setattr(plot, "MOST_WAYS", 1)
    seen = []
    monkeypatch.setattr(plot, "save_figure", lambda figure, *_: seen.append(figure))
    assert branchwise("plot", fitted, "--kind", "heatmap", "-o", tmp_path / "h.png")[0] == 0
    assert seen[0].get_suptitle().endswith("tips; another with --to TIP")
    assert len(seen[0].axes) == 2


def test_the_strongest_features_are_drawn_when_p_values_are_too_small(
    tmp_path, branchwise, figures
):
    """As of 120 the four weakest were once drawn, the first columns of the table."""
    rng = np.random.default_rng(0)
    time = rng.random(4000)
    strength = np.linspace(1, 12, 12)
    X = np.outer(np.sin(3 * time), strength) + rng.standard_normal((4000, 1))
    names = [f"lab{k:02}" for k in range(12)]
    table, out = tmp_path / "t.csv", tmp_path / "out"
    pd.DataFrame(X, columns=names).to_csv(table, index=False)
    given = ["--figure", "none", "--no-report", "--no-support"]
    assert branchwise("fit", table, "-o", out, *given)[0] == 0
    assert branchwise("plot", out, "--kind", "trends", "-o", tmp_path / "t.png")[0] == 0
    shown = [ax.get_ylabel() for ax in figures[0].axes]
    tests = load(out / "model.branchwise").trajectory.associated_features(X, names)
    assert (tests.p_value == 0).sum() > 4
    assert shown == tests.sort_values("statistic", ascending=False).feature.tolist()[:4]
    assert set(shown) <= set(names[4:])


def test_a_label_by_lot_is_drawn_but_told_of(fitted, tmp_path, branchwise):
    given = ("--kind", "layout", "--root", "sex=f", "-o", tmp_path / "picture.png", "--dpi", "50")
    code, _, err = branchwise("plot", fitted, *given)
    assert code == 0
    assert "Time starts where 'f' comes first" in err


def test_three_dimensions_and_uncertainty(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ["--method", "spl", "--n_components", "3", "--figure", "none"]
    assert branchwise("fit", table, "-o", out, "--id", "patient", *given)[0] == 0
    for options in (["--dims", "3"], ["--kind", "uncertainty"]):
        code, _, err = branchwise("plot", out, *options, "-o", tmp_path / "p.svg", "--force")
        assert (code, err) == (0, "")
    assert branchwise("plot", out)[1] == f"embedding drawn in {out / 'embedding.png'}\n"


def test_features_need_the_input_as_it_was(simulated, tmp_path, branchwise):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    simulated.to_csv(path, index=False)
    assert branchwise("fit", path, "-o", out, "--id", "patient", "--figure", "none")[0] == 0
    with path.open("a") as file:
        file.write("P999,1,1,1,1,1,1,50,f,late\n")
    code, _, err = branchwise("plot", out, "--kind", "heatmap")
    assert code == 1
    assert "has changed since the fit; run branchwise fit again." in err
    path.unlink()
    code, _, err = branchwise("plot", out, "--kind", "heatmap")
    assert code == 1
    assert "is not there to read features from" in err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--color", "staeg"], "samples.csv has no column 'staeg'; did you mean 'stage'"),
        (["--root", "sample=Q"], "--root sample=Q is not a sample; they are P000"),
        (["--root", "T77"], "is not a node of the graph"),
        (["--kind", "trends", "--feature", "lab9"], "--feature: "),
        (["--kind", "trends", "--feature", "stage"], "'stage' is not a column of numbers"),
        (["--kind", "uncertainty"], "posterior"),
    ],
    ids=["color", "sample", "root", "feature", "words", "no posterior"],
)
def test_errors_of_pictures_are_one_line(given, says, fitted, tmp_path, branchwise):
    code, _, err = branchwise("plot", fitted, *given, "-o", tmp_path / "p.png")
    assert code == 1
    assert says in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--kind", "branches", "--color", "pseudotime"], "pies of one column of labels"),
        (["--dpi", "0"], "--dpi 0 must be from 10 to 2400."),
        (["--dims", "3", "--view", "flat"], "--view flat draws in two dimensions; leave out"),
    ],
    ids=["pies", "dpi", "view"],
)
def test_pictures_that_cannot_be_are_wrong_usage(given, says, fitted, tmp_path, branchwise):
    code, _, err = branchwise("plot", fitted, *given, "-o", tmp_path / "p.png")
    assert code == 2
    assert says in err


def test_a_folder_without_a_model_is_named(fitted, table, tmp_path, branchwise):
    code, _, err = branchwise("transform", tmp_path, table)
    assert code == 1
    assert "holds no model.branchwise; pass a model file, or a folder that" in err


def test_scores_agree_with_the_metrics(fitted, simulated, branchwise):
    code, text, _ = branchwise("score", fitted, "--labels", "stage", "age", "--json")
    assert code == 0
    found = json.loads(text)
    embedding = pd.read_csv(fitted / "samples.csv", index_col=0)
    points = embedding[["ddrtree0", "ddrtree1"]].to_numpy()
    right = loo_1nn(points, simulated["stage"].to_numpy())
    assert found["stage"]["nearest neighbour's label right"] == pytest.approx(right)
    times = pd.read_csv(fitted / "samples.csv")["pseudotime"]
    rank = np.corrcoef(times.rank(), simulated["age"].rank())[0, 1]
    assert found["age"]["pseudotime: Spearman correlation"] == pytest.approx(rank)
    tables = pd.crosstab(pd.read_csv(fitted / "samples.csv")["branch"], simulated["stage"])
    assert found["stage"]["branch: purity"] == pytest.approx(tables.max(axis=1).sum() / 150)
    assert "nearest neighbour's label right" in branchwise("score", fitted, "--labels", "stage")[1]


def test_unknown_labels_list_the_annotations(fitted, branchwise):
    code, _, err = branchwise("score", fitted, "--labels", "outcome")
    assert code == 1
    assert "has no column 'outcome'; " in err
    assert "age" in err


def test_a_folder_without_a_result_is_said_to_be_none(tmp_path, branchwise):
    for command in (["score", tmp_path, "--labels", "a"], ["plot", tmp_path]):
        code, _, err = branchwise(*command)
        assert code == 1
        assert "is not a result of branchwise fit: it has no run.json" in err


def test_a_damaged_result_is_said_to_be_damaged(tmp_path, branchwise):
    (tmp_path / "run.json").write_text("{}")
    code, _, err = branchwise("score", tmp_path, "--labels", "a")
    assert code == 1
    assert "is damaged" in err


def test_info_of_a_table(table, branchwise):
    code, text, _ = branchwise("info", table, "--id", "patient", "--exclude", "age", "--json")
    assert code == 0
    found = json.loads(text)
    assert (found["samples"], found["features"]) == (150, 6)
    assert set(found["annotations"]) == {"age", "sex", "stage"}
    assert "lab0" in branchwise("info", table)[1]


def test_info_of_a_model(fitted, branchwise):
    for path in (fitted, fitted / "model.branchwise"):
        code, text, _ = branchwise("info", path)
        assert code == 0
        assert "DDRTree" in text
        assert "standardize" in text
        assert "rooted at" in text
