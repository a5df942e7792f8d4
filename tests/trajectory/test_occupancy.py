import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.graph.placement import Placement
from branchwise.trajectory import Trajectory
from branchwise.trajectory.occupancy import (
    empty_stretches,
    is_empty,
    longest_gap,
    occupancy_message,
    occupied_parts,
)

# Without nodes of degree two, but for those of rings: their branches are their edges.
GRAPHS = {
    "path": [[0, 1]],
    "fork": [[0, 1], [2, 1], [1, 3]],
    "H": [[0, 1], [2, 1], [1, 3], [3, 4], [5, 3]],
    "ring": [[0, 0]],
    "ring with a tail": [[0, 0], [0, 1]],
    "two ways": [[0, 1], [1, 2], [2, 1], [2, 3]],
    "two parts": [[0, 1], [2, 3], [3, 4], [3, 5]],
}


def crowded(name, n_samples, n_groups, seed, width=0.01):
    """Samples in groups on a graph, with edges of any length, some of them of none."""
    rng = np.random.default_rng(seed)
    edges = np.array(GRAPHS[name])
    lengths = rng.exponential(size=len(edges)) * (rng.random(len(edges)) > 0.1)
    centre, spot = rng.integers(len(edges), size=n_groups), rng.random(n_groups)
    group = rng.integers(n_groups, size=n_samples)
    position = np.clip(spot[group] + width * rng.standard_normal(n_samples), 0, 1)
    return Placement(edges.max() + 1, edges, lengths, centre[group], position)


class Slow:
    """The definition, word by word, place by place."""

    def __init__(self, placed):
        self.placed, self.n_edges = placed, len(placed.edges)
        self.along = placed.position * placed.lengths[placed.edge]
        self.whole = sum(placed.lengths)
        self.near = self.whole / 200
        far = np.full((placed.n_nodes, placed.n_nodes), np.inf)
        np.fill_diagonal(far, 0.0)
        for (a, b), length in zip(placed.edges, placed.lengths, strict=True):
            far[a, b] = far[b, a] = min(far[a, b], length)
        for k in range(placed.n_nodes):
            far = np.minimum(far, far[:, [k]] + far[[k]])
        self.at_node = [min([np.inf, *self.from_node(far[k])]) for k in range(placed.n_nodes)]

    def from_node(self, far):
        for e, t in zip(self.placed.edge, self.along, strict=True):
            a, b = self.placed.edges[e]
            yield min(far[a] + t, far[b] + self.placed.lengths[e] - t)

    def gap(self, e, t):
        """Where the gap around a place starts and stops on its edge; None: at the edge's end."""
        on = self.along[self.placed.edge == e]
        return max(on[on <= t], default=None), min(on[on >= t], default=None)

    def distance(self, e, t):
        (a, b), length = self.placed.edges[e], self.placed.lengths[e]
        left, right = self.gap(e, t)
        to_left = self.at_node[a] + t if left is None else t - left
        to_right = self.at_node[b] + length - t if right is None else right - t
        return min(to_left, to_right)

    def allowed(self, e):
        sizes = [
            (self.whole, len(self.along)),
            (self.placed.lengths[e], sum(self.placed.edge == e)),
        ]
        return max((L * (1 - (0.01 / (n + 1)) ** (1 / n)) for L, n in sizes if n), default=0.0)

    def beyond(self, node):
        is_tip = np.sum(self.placed.edges == node) == 1
        return 0.0 if is_tip and np.isfinite(self.at_node[node]) else self.at_node[node]

    def is_long(self, e, t):
        (a, b), (left, right) = self.placed.edges[e], self.gap(e, t)
        start = -self.beyond(a) if left is None else left
        stop = self.placed.lengths[e] + self.beyond(b) if right is None else right
        return stop - start > self.allowed(e)

    def is_empty(self, e, t):
        if self.distance(e, t) <= self.near:
            return False
        seen, todo = [], [(e, t)]
        while todo:
            e, t = todo.pop()
            gap = (e, *self.gap(e, t))
            if gap in seen:
                continue
            seen.append(gap)
            if self.is_long(e, t):
                return True
            for node, end in zip(self.placed.edges[e], gap[1:], strict=True):
                if end is None and self.at_node[node] > self.near:
                    todo += [(f, 0.0) for f in np.flatnonzero(self.placed.edges[:, 0] == node)]
                    ending = np.flatnonzero(self.placed.edges[:, 1] == node)
                    todo += [(f, self.placed.lengths[f]) for f in ending]
        return False


def parts_of(placed):
    return occupied_parts(empty_stretches(placed), placed)


def places_on(placed, n_points, seed=0):
    edge = np.repeat(np.arange(len(placed.edges)), n_points)
    return placed._replace(edge=edge, position=np.random.default_rng(seed).random(len(edge)))


@given(
    st.sampled_from(sorted(GRAPHS)),
    st.sampled_from([0, 1, 2, 5, 20, 80]),
    st.integers(1, 8),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None)
def test_places_are_empty_as_the_definition_says(name, n_samples, n_groups, seed):
    placed = crowded(name, n_samples, n_groups, seed)
    places = places_on(placed, 20)
    slow = Slow(placed)
    time = places.position * placed.lengths[places.edge]
    expected = [slow.is_empty(e, t) for e, t in zip(places.edge, time, strict=True)]
    np.testing.assert_array_equal(is_empty(empty_stretches(placed), places), expected)


@given(
    st.sampled_from(sorted(GRAPHS)),
    st.integers(0, 60),
    st.integers(1, 8),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None)
def test_parts_are_those_of_many_places(name, n_samples, n_groups, seed):
    placed = crowded(name, n_samples, n_groups, seed)
    empty = empty_stretches(placed)
    steps = (np.arange(2000) + 0.5) / 2000
    for edge, part in enumerate(occupied_parts(empty, placed)):
        many = placed._replace(edge=np.full(2000, edge), position=steps)
        # Each end of a stretch is known to half a step.
        assert part == pytest.approx(1 - is_empty(empty, many).mean(), abs=0.5e-3 * (1 + n_samples))


@given(st.sampled_from(sorted(GRAPHS)), st.integers(1, 60), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_nodes_within_branches_and_the_order_of_samples_change_nothing(name, n_samples, seed):
    placed = crowded(name, n_samples, 4, seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_samples)
    cut = int(rng.integers(len(placed.edges)))
    at, node = rng.uniform(0.1, 0.9), placed.n_nodes
    edge, position = placed.edge[order], placed.position[order]
    late, early = (edge == cut) & (position > at), (edge == cut) & (position <= at)
    position = np.where(late, (position - at) / (1 - at), np.where(early, position / at, position))
    edges = np.vstack([placed.edges, [node, placed.edges[cut, 1]]])
    edges[cut, 1] = node
    lengths = np.append(placed.lengths, (1 - at) * placed.lengths[cut])
    lengths[cut] *= at
    other = Placement(node + 1, edges, lengths, np.where(late, len(placed.edges), edge), position)
    found, expected = parts_of(other), parts_of(placed)
    joined = np.delete(found[:-1], cut), at * found[cut] + (1 - at) * found[-1]
    np.testing.assert_allclose(joined[0], np.delete(expected, cut), atol=1e-9)
    assert joined[1] == pytest.approx(expected[cut], abs=1e-9)


@pytest.mark.parametrize("n_samples", [1, 2, 10, 90, 1000])
def test_even_samples_seldom_leave_a_gap_that_is_too_long(n_samples):
    """The probability is at most CHANCE, and not far below."""
    rng = np.random.default_rng(0)
    points = np.sort(rng.random((20_000, n_samples)), axis=1)
    gaps = np.diff(points, axis=1, prepend=0.0, append=1.0).max(axis=1)
    rate = np.mean(gaps > longest_gap(1.0, np.array(n_samples)))
    assert 0.006 < rate < 0.013


@pytest.mark.parametrize("n_samples", [90, 1_000_000])
def test_even_trees_are_occupied_and_crowds_are_not(n_samples):
    rng = np.random.default_rng(0)
    edges, lengths = np.array([[0, 1], [1, 2], [1, 3]]), np.array([3.0, 2.0, 1.0])
    edge = rng.choice(3, p=lengths / 6, size=n_samples)
    even = Placement(4, edges, lengths, edge, rng.random(n_samples))
    assert parts_of(even) @ lengths / 6 > 0.99
    crowds = even._replace(position=0.5 + 0.001 * rng.standard_normal(n_samples))
    assert parts_of(crowds) @ lengths / 6 < (0.4 if n_samples == 90 else 0.04)


def test_a_rare_branch_with_even_samples_is_occupied():
    """Twelve of a thousand samples, whose gaps are far wider than those of the others."""
    edge = np.repeat([0, 1, 2], [500, 488, 12])
    position = np.concatenate([np.linspace(0, 1, n) for n in (500, 488, 12)])
    placed = Placement(4, np.array([[0, 1], [1, 2], [1, 3]]), np.ones(3), edge, position)
    np.testing.assert_array_equal(parts_of(placed), 1.0)


def test_the_samples_of_another_branch_count_near_a_fork():
    edges, lengths = np.array([[0, 1], [1, 2], [1, 3]]), np.array([1.0, 1.0, 0.1])
    edge, position = np.repeat([0, 1], 100), np.tile((np.arange(100) + 0.5) / 100, 2)
    placed = Placement(4, edges, lengths, edge, position)
    # A short branch without samples: chance would leave a tenth of it, not all.
    near = (2.1 / 200 - 0.005) / 0.1
    np.testing.assert_allclose(parts_of(placed), [1.0, 1.0, near])
    shorter = placed._replace(lengths=np.array([1.0, 1.0, 0.03]))
    np.testing.assert_array_equal(parts_of(shorter), 1.0)


def test_ties_have_to_be_as_close_as_other_samples():
    """Rounded to a hundredth of the tree samples fill it; rounded to a tenth they do not."""
    time = np.random.default_rng(0).random(2000)
    for digits, expected in ((2, 1.0), (1, 0.1)):
        placed = Placement(
            2, np.array([[0, 1]]), np.array([3.0]), np.zeros(2000, int), time.round(digits)
        )
        assert parts_of(placed)[0] == pytest.approx(expected, abs=0.01)


def test_a_part_without_samples_is_empty_also_if_it_is_a_point():
    edges, lengths = np.array([[0, 1], [2, 3], [4, 4]]), np.array([1.0, 1.0, 0.0])
    placed = Placement(5, edges, lengths, np.zeros(50, int), np.linspace(0, 1, 50))
    np.testing.assert_array_equal(parts_of(placed), [1.0, 0.0, 0.0])


def test_all_samples_at_one_place_fill_a_tree_without_length():
    path = Trajectory([[0, 1]], [[1.0, 1.0], [1.0, 1.0]], np.ones((5, 2)))
    assert path.occupied_ == 1.0
    assert path.branch_table_["occupied"].tolist() == [1.0]


def clumps(n_each=40):
    """Groups of samples on a fork: at its tips, and in the middle of the stem."""
    nodes = np.array([[0.0, 0.0], [4.0, 0.0], [6.0, 2.0], [6.0, -2.0]])
    spots = np.array([[0.0, 0.0], [2.0, 0.0], [6.0, 2.0], [6.0, -2.0]])
    noise = 0.01 * np.random.default_rng(0).standard_normal((4 * n_each, 2))
    points = np.repeat(spots, n_each, axis=0) + noise
    return Trajectory([[0, 1], [1, 2], [1, 3]], nodes, points)


def test_trajectories_tell_how_much_of_them_is_occupied():
    path = clumps()
    table = path.branch_table_
    assert table.index[0] == "T1-F1"
    assert (table["occupied"] * table["length"]).sum() / table["length"].sum() == pytest.approx(
        path.occupied_
    )
    assert path.occupied_ < 0.1
    assert table["occupied"].between(0, 0.2).all()


@pytest.mark.parametrize("root", [{"sample": 50}, {"node": "T2"}, {"node": "F1"}])
def test_another_root_leaves_as_much_occupied(root):
    path = clumps()
    assert path.rooted(**root).occupied_ == pytest.approx(path.occupied_, abs=1e-12)


def test_the_message_has_the_share_and_comes_below_one_half():
    assert "only 4 % of the tree's length" in occupancy_message(clumps())
    even = Trajectory([[0, 1]], [[0.0], [1.0]], np.linspace(0, 1, 30)[:, None])
    assert occupancy_message(even) is None
    pair = Trajectory([[0, 1]], [[0.0], [1.0]], np.array([[0.0], [0.0], [1.0]]))
    assert pair.occupied_ < 0.5
    assert occupancy_message(pair) is None  # of three samples nobody expects more
