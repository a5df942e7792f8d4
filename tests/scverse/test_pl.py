"""Pictures of what the tools have written show the right cells, names and values."""

import subprocess
import sys

import numpy as np
import pytest

import branchwise
from branchwise.report import read_report

from .cells import METHODS, QUICK, simulated_cells

plt = pytest.importorskip("matplotlib.pyplot", reason="pictures")
plt.switch_backend("agg")
to_hex = plt.matplotlib.colors.to_hex


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cells():
    adata = simulated_cells()
    branchwise.tl.ddrtree(adata, **QUICK["ddrtree"])
    branchwise.tl.branches(adata, n_branches=3)
    branchwise.tl.pseudotime(adata, root={"day": "0"})
    branchwise.tl.test_association(adata)
    return adata


def drawn_points(ax):
    """Positions of all that is drawn as points."""
    return np.vstack([c.get_offsets() for c in ax.collections if hasattr(c, "get_sizes")])


@pytest.mark.parametrize("method", METHODS)
def test_embedding_draws_every_cell_where_it_lies(method):
    adata = simulated_cells()
    getattr(branchwise.tl, method)(adata, **QUICK[method])
    ax = branchwise.pl.embedding(adata, milestones=False, components=[0, 1])
    found, wanted = drawn_points(ax), adata.obsm[f"X_{method}_projection"][:, :2]
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"{method} 1", f"{method} 2")
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(wanted, axis=0), atol=1e-9)
    other = branchwise.pl.embedding(adata, components=[1, 0], ax=plt.figure().subplots())
    assert other.get_xlabel() == f"{method} 2"


def test_many_components_are_drawn_flat_and_in_the_best_axes(cells):
    flat, axes = branchwise.pl.embedding(cells, color="day")
    assert flat.get_legend() is None
    assert axes.get_xlabel().startswith("tree axis 1 (")
    rows = branchwise.pl.embedding(cells, color=["day", "gene 3"])
    assert rows.shape == (2, 2)
    assert [ax.get_xlabel().startswith("tree axis 1") for ax in rows[:, 1]] == [False, True]
    assert branchwise.pl.embedding(cells, view="flat").get_xlabel() == ""


def test_support_stands_beside_branches(cells):
    adata = cells.copy()
    branchwise.tl.bootstrap(adata, n_resamples=2)
    for ax in (branchwise.pl.embedding(adata, view="flat"), branchwise.pl.tree(adata)):
        assert sum("% support" in text.get_text() for text in ax.texts) == 3


def embedding_in_columns(adata, **options):
    return branchwise.pl.embedding(adata, components=[0, 1], **options)


@pytest.mark.parametrize(
    "draw", [embedding_in_columns, branchwise.pl.tree], ids=["embedding", "tree"]
)
def test_color_is_a_column_a_gene_or_of_the_graph(cells, draw):
    days = [text.get_text() for text in draw(cells, color="day").get_legend().get_texts()]
    count = cells.obs["day"].value_counts()
    assert days == [f"0 ({count['0']})", f"later ({count['later']})"]
    branches = [t.get_text() for t in draw(cells, color="branch").get_legend().get_texts()]
    sizes = cells.obs["ddrtree_branch"].value_counts()
    assert branches == [f"{name} ({sizes[name]})" for name in sizes.index.sort_values()]
    for color, layer in (("gene 3", None), ("gene 3", "sparse"), ("ddrtree_pseudotime", None)):
        ax = draw(cells, color=color, layer=layer)
        bar, wanted = ax.figure.axes[-1], cells.obs_vector(color)
        assert bar.get_ylabel() == color
        assert bar.get_ylim() == pytest.approx((wanted.min(), wanted.max()))


@pytest.mark.parametrize(
    "draw",
    [
        lambda adata: embedding_in_columns(adata, color="day"),
        lambda adata: branchwise.pl.tree(adata, color="day"),
        lambda adata: branchwise.pl.branches(adata, labels="day"),
    ],
    ids=["embedding", "tree", "branches"],
)
def test_categories_have_the_colors_that_scanpy_gave_them(cells, draw):
    def shown():
        return [to_hex(h.get_color()) for h in draw(adata).get_legend().legend_handles]

    adata = cells.copy()
    adata.obs["day"] = adata.obs["day"].astype("category").cat.add_categories(["never"])
    own = shown()
    adata.uns["day_colors"] = np.array(["#112233", "#aabbcc", "#445566"])
    assert shown() == ["#112233", "#aabbcc"]
    adata.uns["day_colors"] = ["#112233"]  # of categories that there were
    assert shown() == own


def test_branches_show_labels_and_support(cells):
    adata = cells.copy()
    ax = branchwise.pl.branches(adata, labels="day")
    assert ax.get_legend().get_title().get_text() == "day"
    before = {text.get_text() for text in ax.texts}
    branchwise.tl.bootstrap(adata, n_resamples=2)
    after = {text.get_text() for text in branchwise.pl.branches(adata).texts}
    assert after != before


def test_trends_draw_the_genes_asked_for(cells):
    assert branchwise.pl.trends(cells, "gene 2").get_ylabel() == "gene 2"
    axes = branchwise.pl.trends(cells, ["gene 4", "gene 1"], layer="sparse")
    assert [ax.get_ylabel() for ax in np.ravel(axes)] == ["gene 4", "gene 1"]


def test_heatmap_takes_the_most_significant_genes(cells):
    ax = branchwise.pl.heatmap(cells, n_genes=3)
    shown = {label.get_text() for label in ax.get_yticklabels()}
    assert shown == set(cells.uns["ddrtree"]["association"].index[:3])
    untested = cells.copy()
    branchwise.tl.branches(untested)
    with pytest.raises(KeyError, match=r"call branchwise\.tl\.test_association\(adata\) first"):
        branchwise.pl.heatmap(untested)


def test_adjacency_sorts_cells_by_a_column_or_by_time(cells):
    adata = simulated_cells()
    branchwise.tl.drtree(adata)
    ax = branchwise.pl.adjacency(adata, order="day")
    assert {"0", "later"} <= {text.get_text() for text in ax.get_xticklabels() + ax.texts}
    branchwise.pl.adjacency(adata)
    branchwise.pl.adjacency(cells)
    with pytest.raises(ValueError, match="order='day' has a value for each of 120 cells, but"):
        branchwise.pl.adjacency(cells, order="day")


def test_convergence_shows_all_fits(cells):
    adata = cells.copy()
    branchwise.tl.drtree(adata)
    shown = {text.get_text() for text in branchwise.pl.convergence(adata).get_legend().get_texts()}
    assert any("ddrtree" in text for text in shown)
    assert len(shown) == 2
    branchwise.pl.convergence(adata, key="ddrtree")
    with pytest.raises(KeyError, match="key='spl' is not a tree of adata"):
        branchwise.pl.convergence(adata, key="spl")
    with pytest.raises(KeyError, match="adata holds no tree"):
        branchwise.pl.convergence(simulated_cells())


def test_uncertainty_is_that_of_the_bootstrap_or_the_posterior(cells):
    adata = cells.copy()
    with pytest.raises(KeyError, match=r"call branchwise\.tl\.bootstrap\(adata\) first"):
        branchwise.pl.uncertainty(adata)
    branchwise.tl.bootstrap(adata, n_resamples=2, level=0.9)
    ax = branchwise.pl.uncertainty(adata)
    assert ax.get_ylabel() == "pseudotime"
    assert ax.get_title("left").startswith("90 % intervals")
    branchwise.tl.spl(adata, n_neighbors=5)
    assert "95 %" in branchwise.pl.uncertainty(adata, key="spl").get_title("left")


def test_pictures_change_nothing(cells):
    adata = cells.copy()
    before = repr(adata), sorted(adata.uns["ddrtree"])
    for draw in (
        branchwise.pl.embedding,
        branchwise.pl.tree,
        branchwise.pl.branches,
        branchwise.pl.heatmap,
    ):
        draw(adata)
    assert (repr(adata), sorted(adata.uns["ddrtree"])) == before


def test_subsets_and_placed_cells_can_be_drawn(cells):
    some = cells[cells.obs["day"] == "later"]
    assert len(drawn_points(embedding_in_columns(some, milestones=False))) == some.n_obs
    new = simulated_cells(40, seed=1)
    branchwise.tl.place(new, cells)
    assert len(drawn_points(embedding_in_columns(new, milestones=False))) == new.n_obs
    branchwise.pl.tree(new)


@pytest.mark.parametrize(
    "draw", [embedding_in_columns, branchwise.pl.tree], ids=["embedding", "tree"]
)
def test_a_list_of_colours_makes_one_picture_each(draw, cells):
    axes = draw(cells, color=["day", "gene 1", "pseudotime"])
    assert axes.shape == (3,)
    assert len({ax.figure for ax in axes}) == 1
    assert axes[0].get_legend().get_title().get_text() == "day"
    again = draw(cells, color=("day",), ax=axes[2])
    assert again[0] is axes[2]


def test_mistakes_are_named(cells):
    with pytest.raises(ValueError, match=r"color='HSC' is neither a column of adata\.obs nor"):
        branchwise.pl.embedding(cells, color="HSC")
    with pytest.raises(TypeError, match=r"must be the name of a column of adata\.obs or of a gene"):
        branchwise.pl.tree(cells, color=3)
    with pytest.raises(ValueError, match=r"color=\[\] names nothing to colour by"):
        branchwise.pl.embedding(cells, color=[])
    with pytest.raises(ValueError, match="ax holds 1 Axes for 2 colours; pass one for each"):
        branchwise.pl.tree(cells, color=["day", "gene 1"], ax=embedding_in_columns(cells))
    with pytest.raises(ValueError, match="genes names 'GATA1', but adata has no such genes"):
        branchwise.pl.trends(cells, "GATA1")
    with pytest.raises(
        ValueError, match=r"labels names 'type', which is not a column of adata\.obs"
    ):
        branchwise.pl.branches(cells, labels="type")
    with pytest.raises(KeyError, match="adata holds no tree"):
        branchwise.pl.embedding(simulated_cells())


def test_without_matplotlib_it_is_said_how_to_get_it():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import branchwise\n"
        "try: branchwise.pl\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        done.stdout.strip()
        == "branchwise.pl needs matplotlib; run: pip install '.[anndata]' in a clone of branchwise"
    )


def test_report_has_the_cells_their_columns_and_genes(cells, tmp_path):
    adata = cells.copy()
    branchwise.pl.report(adata, tmp_path / "cells.html", color=adata.obs.columns[0], title="Cells")
    state = read_report(tmp_path / "cells.html")
    assert state["title"] == "Cells"
    assert state["samples"]["ids"] == adata.obs_names.tolist()
    names = {(column["group"], column["name"]) for column in state["columns"]}
    assert {("annotation", name) for name in adata.obs} <= names
    assert sum(group == "feature" for group, _ in names) == min(60, adata.n_vars)
    assert branchwise.pl.report(adata).startswith("<!doctype html>")


def test_branches_have_the_same_colours_for_scanpy_and_in_pictures(cells):
    from branchwise.plotting.coloring import BRANCH_COLORS

    n_branches = len(cells.obs["ddrtree_branch"].cat.categories)
    assert list(cells.uns["ddrtree_branch_colors"]) == list(BRANCH_COLORS[:n_branches])
    named = branchwise.pl.tree(cells, color="branch").get_legend().legend_handles
    column = branchwise.pl.tree(cells, color="ddrtree_branch").get_legend().legend_handles
    assert [to_hex(handle.get_color()) for handle in named] == [
        to_hex(handle.get_color()) for handle in column
    ]
    assert to_hex(named[0].get_color()).upper() == BRANCH_COLORS[0]


def test_trends_without_genes_are_those_that_change_most(cells):
    adata = cells.copy()
    adata.uns["ddrtree"] = {k: v for k, v in adata.uns["ddrtree"].items() if k != "association"}
    with pytest.raises(KeyError, match=r"has no tests to choose genes by; call branchwise.tl.test"):
        branchwise.pl.trends(adata)
    branchwise.tl.test_association(adata)
    axes = branchwise.pl.trends(adata)
    table = adata.uns["ddrtree"]["association"]
    assert [ax.get_ylabel() for ax in axes] == table.index[:4].tolist()
    assert table.statistic.is_monotonic_decreasing
    assert len(axes[0].figure.legends) == 1


def test_trends_tell_the_support_that_bootstrap_found(cells):
    adata = cells.copy()
    branchwise.tl.bootstrap(adata, n_resamples=3)
    legend = branchwise.pl.trends(adata, adata.var_names[0]).get_legend()
    assert legend.get_title().get_text() == "branch (samples, support)"
    assert all(" %" in text.get_text() for text in legend.get_texts())


def test_a_heat_map_of_several_tips(cells):
    tips = [tip for tip in cells.uns["ddrtree"]["milestones"].index if tip.startswith("T")][1:]
    axes = branchwise.pl.heatmap(cells, list(cells.var_names[:3]), to=tips)
    assert [ax.get_title() for ax in axes] == [f"to {tip}" for tip in tips]
