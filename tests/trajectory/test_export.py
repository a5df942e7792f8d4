"""What other programs read is what the trajectory says."""

import json
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.graph import adjacency
from branchwise.trajectory import Trajectory

STAR = [[0, 1], [0, 2], [0, 3]]
PLACES = np.array([[0.0, 0.0], [-3.0, 0.0], [4.0, 0.0], [0.0, 1.5]])


def random_forest(seed, n_nodes, n_cut):
    rng = np.random.default_rng(seed)
    edges = np.array([[k, rng.integers(k)] for k in range(1, n_nodes)], dtype=int).reshape(-1, 2)
    edges = np.delete(edges, rng.choice(len(edges), min(n_cut, len(edges)), replace=False), axis=0)
    return Trajectory(
        adjacency(edges, n_nodes), rng.normal(size=(n_nodes, 3)), rng.normal(size=(20, 3))
    )


def read_newick(line):
    """Edges (parent, child, length) and the root, by peeling off innermost brackets."""
    edges, pattern = [], re.compile(r"\(([^()]*)\)(\w+)")
    while match := pattern.search(line):
        for child in match[1].split(","):
            name, _, length = child.partition(":")
            edges.append((match[2], name, float(length)))
        line = line[: match.start()] + match[2] + line[match.end() :]
    return edges, line.rstrip(";")


@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.integers(0, 3))
def test_newick_holds_the_branches(seed, n_nodes, n_cut):
    found = random_forest(seed, n_nodes, n_cut)
    lines = found.to_newick().splitlines()
    table = found.branch_table_
    table = table[table["start"] != table["end"]]  # but for nodes without neighbours
    edges, roots = [], []
    for line in lines:
        more, root = read_newick(line)
        edges += more
        roots.append(root)
    assert sorted((a, b) for a, b, _ in edges) == sorted(
        zip(table["start"], table["end"], strict=True)
    )
    lengths = {f"{a}-{b}": length for a, b, length in edges}
    for branch, length in table["length"].items():
        assert np.isclose(lengths[branch], length)
    milestones = found.milestones_
    assert sorted(roots) == sorted(milestones.index[milestones["is_root"]])


def test_newick_of_a_deep_tree():
    n = 5000
    spine = [[k, k + 1] for k in range(n - 1)]
    twigs = [[k, n + k] for k in range(1, n - 1)]
    nodes = np.zeros((2 * n - 1, 2))
    nodes[:n, 0] = np.arange(n)
    nodes[n:] = nodes[: n - 1] + np.array([0.0, 0.5])
    edges = np.array([*spine, *twigs, [0, n]])
    assert (
        Trajectory(edges, nodes, nodes[:3]).to_newick().count("(") == n - 1
    )  # the forks and the root


@pytest.mark.parametrize(
    ("edges", "roots"), [([[0, 1], [1, 2], [2, 0]], [0]), ([[0, 1], [1, 2]], [0, 2])]
)
def test_newick_refuses_cycles_and_several_roots(edges, roots):
    found = Trajectory(edges, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).rooted(node=roots)
    with pytest.raises(ValueError, match="a cycle or several roots in one tree; use to_graphml"):
        found.to_newick()


def test_networkx_nodes_edges_and_branches():
    found = Trajectory(STAR, PLACES, PLACES + 0.1).rooted(node=1)
    graph = found.to_networkx()
    assert nx.is_tree(graph)
    assert graph.nodes[1]["is_root"]
    assert graph.nodes[0]["milestone"] == "F1"
    assert graph.nodes[2]["pos"] == (4.0, 0.0)
    assert nx.get_edge_attributes(graph, "length")[0, 2] == 4.0
    assert sum(nx.get_edge_attributes(graph, "n_samples").values()) == 4
    times = nx.single_source_dijkstra_path_length(graph, 1, weight="length")
    assert times == pytest.approx(nx.get_node_attributes(graph, "pseudotime"))
    coarse = found.to_networkx("milestones")
    assert nx.is_arborescence(coarse)
    assert set(nx.get_edge_attributes(coarse, "branch").values()) == set(found.branches_) | set(
        found.branch_table_.index
    )


def test_branches_between_the_same_milestones_make_a_multigraph():
    """A ring with two tails: two branches join its forks."""
    edges = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [2, 5]]
    nodes = np.array([[0, 1], [1, 0], [0, -1], [-1, 0], [0, 3], [0, -3]], dtype=float)
    coarse = Trajectory(edges, nodes).to_networkx("milestones")
    assert isinstance(coarse, nx.MultiDiGraph)
    assert sorted(data["branch"] for *_, data in coarse.edges(data=True)) == [
        "F1-F2.1",
        "F1-F2.2",
        "F2-T2",
        "T1-F1",
    ]


def test_level_of_networkx_is_one_of_two():
    with pytest.raises(ValueError, match="level='tips' must be 'nodes' or 'milestones'"):
        Trajectory(STAR, PLACES).to_networkx("tips")


def test_graphml_comes_back(tmp_path):
    found = Trajectory(STAR, PLACES)
    found.to_graphml(tmp_path / "tree.graphml")
    graph = nx.read_graphml(tmp_path / "tree.graphml")
    assert graph.nodes["2"]["x1"] == 4.0
    assert graph.edges["0", "2"]["length"] == 4.0
    assert (tmp_path / "tree.graphml").read_text("utf-8").strip() == found.to_graphml()


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(0, 3))
def test_json_holds_everything(seed, n_nodes, n_cut):
    found = random_forest(seed, n_nodes, n_cut)
    read = json.loads(found.to_json())
    again = Trajectory(adjacency(np.array(read["edges"]), n_nodes), read["nodes"])
    np.testing.assert_allclose(again.lengths_.sum(), found.lengths_.sum())
    assert [sample["branch"] for sample in read["samples"]] == found.branches_.tolist()
    np.testing.assert_array_equal(
        [sample["pseudotime"] for sample in read["samples"]], found.pseudotime_
    )
    assert {m["milestone"] for m in read["milestones"]} == set(found.milestones_.index)


def test_files_are_written_whole(tmp_path):
    found = Trajectory(STAR, PLACES, names=["a", "b", "c", "ä"])
    assert found.to_json(tmp_path / "tree.json") is None
    assert json.loads((tmp_path / "tree.json").read_text("utf-8"))["samples"][3]["sample"] == "ä"
    found.to_newick(tmp_path / "tree.nwk")
    assert (tmp_path / "tree.nwk").read_text("utf-8") == found.to_newick() + "\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree.json", "tree.nwk"]
