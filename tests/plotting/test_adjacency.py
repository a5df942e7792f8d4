import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from branchwise import SPL, DDRTree
from branchwise.graph import adjacency
from branchwise.plotting import plot_adjacency


def chain(n_nodes, weights=None):
    return adjacency(
        np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)]), n_nodes, weights
    )


def squares(ax):
    """Row and column of each square."""
    column, row = np.floor(ax.collections[0].get_offsets()).astype(int).T
    return set(zip(row.tolist(), column.tolist(), strict=True))


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_every_entry_is_a_square(form):
    graph = chain(5) if form == "sparse" else chain(5).toarray()
    ax = plt.figure().subplots()
    assert plot_adjacency(graph, ax=ax) is ax
    assert squares(ax) == {(k, k + 1) for k in range(4)} | {(k + 1, k) for k in range(4)}
    assert ax.get_ylim() == (5, 0)  # the first row is on top


def test_nodes_are_sorted_by_numbers(rng):
    place = rng.permutation(30)
    graph = sparse.coo_array(chain(30))
    shuffled = sparse.coo_array((graph.data, (place[graph.row], place[graph.col])), (30, 30))
    time = np.empty(30)
    time[place] = np.arange(30)
    assert squares(plot_adjacency(shuffled, order=time)) == squares(plot_adjacency(graph))
    ax = plot_adjacency(shuffled, order=pd.Series(time, name="pseudotime"))
    assert ax.get_xlabel() == ax.get_ylabel() == "nodes, sorted by pseudotime"


def test_categories_are_named_and_missing_ones_come_last():
    order = ["b", "a", None, "b", "a", "$c"]
    ax = plot_adjacency(chain(6), order=order, order_name="day")
    assert [text.get_text() for text in ax.get_yticklabels()] == [r"\$c", "a", "b", "missing"]
    assert ax.get_yticks().tolist() == [0.5, 2, 4, 5.5]
    # Nodes 5; 1, 4; 0, 3; 2 follow each other: edge (0, 1) is in row 3, column 1.
    assert (3, 1) in squares(ax)


def test_categories_without_room_have_no_names():
    ax = plot_adjacency(chain(300), order=["large"] * 280 + [f"small {k}" for k in range(20)])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["large"]


def test_weights_have_a_colour_bar_and_equal_ones_none():
    weighted = plot_adjacency(chain(5, np.arange(1.0, 5.0)))
    bar = weighted.figure.axes[1]
    assert (bar.get_ylabel(), bar.get_ylim()) == ("weight of edge", (1, 4))
    assert len(plot_adjacency(chain(5)).figure.axes) == 1


def test_weights_of_both_signs_have_a_diverging_scale():
    bar = plot_adjacency(chain(4, np.array([-1.0, 2.0, 3.0]))).figure.axes[1]
    assert bar.get_ylim() == (-3, 3)


def test_many_nodes_are_counted_in_groups():
    ax = plot_adjacency(chain(1000))
    assert ax.figure.axes[1].get_ylabel() == "non-zero entries in 5 × 5"
    groups = {(row // 5, column // 5) for row, column in squares(ax)}
    assert groups == {(i, j) for i in range(200) for j in (i - 1, i, i + 1) if 0 <= j < 200}


def test_no_dense_matrix_is_made_of_many_nodes():
    graph = chain(200_000)
    tracemalloc.start()
    plot_adjacency(graph, order=np.arange(200_000.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # a byte for each entry of the matrix would be 40 GB


def test_the_graph_of_an_estimator_is_drawn(rng):
    X = rng.normal(size=(40, 3))
    skeleton, tree = SPL().fit(X), DDRTree(2, random_state=0).fit(X)
    assert len(squares(plot_adjacency(skeleton))) == skeleton.graph_.nnz
    assert len(squares(plot_adjacency(tree))) == tree.tree_.nnz


@pytest.mark.parametrize("n_nodes", [1, 3])
def test_a_graph_without_edges_can_be_drawn(n_nodes):
    plot_adjacency(
        np.zeros((n_nodes, n_nodes)), order=["a"] * n_nodes
    ).figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        pytest.param(np.zeros((2, 3)), {}, r"shape \(2, 3\).*square matrix", id="shape"),
        pytest.param(np.array([["a"]]), {}, "square matrix of numbers", id="text"),
        pytest.param(np.zeros((0, 0)), {}, "graph has no nodes", id="empty"),
        pytest.param(np.array([[np.nan]]), {}, "not finite; replace them by 0", id="NaN"),
        pytest.param(np.eye(3), {"order": [1, 2]}, r"order has shape \(2,\) but", id="order"),
        pytest.param(np.eye(3), {"cmap": "x"}, "cmap='x' is not a colour map", id="cmap"),
    ],
)
def test_bad_graphs_are_refused(graph, options, message):
    with pytest.raises(ValueError, match=message):
        plot_adjacency(graph, **options)
    assert not plt.get_fignums()


@pytest.mark.parametrize("name", ["weights", "counts"])
def test_a_matrix_looks_as_it_did(same_picture, name):
    n_nodes = {"weights": 30, "counts": 2000}[name]
    graph = (
        chain(n_nodes, 1.0 + np.arange(n_nodes - 1) % 7) if name == "weights" else chain(n_nodes)
    )
    ax = plt.figure(figsize=(4, 3)).subplots()
    order = np.repeat(["early", "late"], n_nodes // 2)
    same_picture(plot_adjacency(graph, order=order, ax=ax), f"adjacency_{name}")
