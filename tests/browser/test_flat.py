"""The flat drawing and the best axes: the page draws what the pictures of Python draw."""

import numpy as np
import pandas as pd
import pytest

from branchwise import Preparation, learn_trajectory
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline
from branchwise.report import write_report
from branchwise.trajectory import Trajectory
from branchwise.trajectory.axes import tree_axes
from branchwise.trajectory.flat import beside, flat_tree

DATA = make_tree(300, 8, topology="bifurcation", noise=0.1, random_state=0)  # simulated


@pytest.fixture(scope="module")
def made():
    table = pd.DataFrame(DATA.X, columns=[f"x{k}" for k in range(8)])
    return fit_pipeline(table, None, Preparation(), root={"node": "T1"})


@pytest.fixture(scope="module")
def page_of_many(made, tmp_path_factory):
    file = tmp_path_factory.mktemp("flat") / "flat.html"
    table = pd.DataFrame(DATA.X, columns=[f"x{k}" for k in range(8)])
    write_report(file, made, features=table, title="Simulated")
    return file


def drawn(opened):
    """Samples and milestones as the first view draws them."""
    found = opened.run(
        """
        const {positions, nodes} = app.plots.embedding.scene;
        return [[...positions], [...nodes.positions], [...nodes.ids]];
        """
    )
    return *(np.array(places).reshape(-1, 3) for places in found[:2]), found[2]


def test_the_first_picture_is_the_flat_drawing_of_python(open_page, page_of_many, made):
    opened = open_page(page_of_many)
    assert opened.page.get_by_role("radio", name="Flat").get_attribute("aria-checked") == "true"
    samples, nodes, ids = drawn(opened)
    flat = flat_tree(made.trajectory)
    np.testing.assert_allclose(samples[:, :2], flat.samples, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(nodes[:, :2], flat.nodes[ids], rtol=1e-5, atol=1e-5)
    assert not samples[:, 2].any()


@pytest.mark.parametrize(("name", "dims"), [("2-D", 2), ("3-D", 3)])
def test_the_axes_are_those_that_show_the_tree_best(open_page, page_of_many, made, name, dims):
    opened = open_page(page_of_many)
    opened.page.get_by_role("radio", name=name).click()
    samples, nodes, ids = drawn(opened)
    path = made.trajectory
    axes = tree_axes(path.nodes_, path.edges_, path.view.points, int(path.roots_[0]), 3).axes
    expected = path.view.points @ axes[:, :dims]
    np.testing.assert_allclose(samples[:, :dims], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(nodes[:, :dims], (path.nodes_ @ axes)[ids, :dims], atol=1e-5)


def test_branches_are_as_long_on_the_screen_as_they_are(open_page, page_of_many, made):
    opened = open_page(page_of_many)
    table = made.trajectory.branch_table_
    nodes = made.trajectory.milestones_["node"]
    pixels = {name: np.array(opened.node("embedding", int(node))) for name, node in nodes.items()}
    shown = [np.linalg.norm(pixels[row.end] - pixels[row.start]) for row in table.itertuples()]
    ratio = np.array(shown) / table["length"].to_numpy()
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)


def test_new_samples_are_drawn_at_their_place_and_distance(open_page, page_of_many, made):
    rng = np.random.default_rng(0)
    new = pd.DataFrame(DATA.X[:25] * 1.3 + rng.normal(size=(25, 8)), columns=made.features)
    opened = open_page(page_of_many)
    opened.run("app.addSamples(given)", new.to_csv(index=False))
    places = opened.run(
        "return app.placesOfAdded().map((s) => app.plots.embedding.scene.placeOf(s))"
    )
    path = made.trajectory
    projection = made.estimator.project(new.to_numpy())
    placed = path.view.place(projection)
    a, b = path.nodes_[path.edges_[placed.edge]].transpose(1, 0, 2)
    foot = a + placed.position[:, np.newaxis] * (b - a)
    flat = flat_tree(path)
    expected = beside(
        placed.edge,
        placed.position,
        placed.distance,
        projection - foot,
        path.nodes_[path.edges_],
        flat.nodes[flat.edges],
        flat.sides,
        np.bincount(flat.edges.ravel())[flat.edges] == 1,
    )
    assert (placed.position == 1).any() or (placed.position == 0).any(), "some beyond a tip"
    np.testing.assert_allclose(np.array(places)[:, :2], expected, rtol=1e-5, atol=1e-4)
    opened.page.get_by_role("radio", name="2-D").click()
    places = opened.run(
        "return app.placesOfAdded().map((s) => app.plots.embedding.scene.placeOf(s))"
    )
    axes = tree_axes(path.nodes_, path.edges_, path.view.points, int(path.roots_[0])).axes
    expected = projection @ axes
    np.testing.assert_allclose(np.array(places)[:, :2], expected, rtol=1e-6, atol=1e-6)


def test_the_flat_drawing_stays_when_the_root_moves(open_page, page_of_many):
    opened = open_page(page_of_many)
    before = drawn(opened)[0]
    opened.run("app.setRoot(app.tree.milestones.find((m) => m.name === 'T2').node)")
    np.testing.assert_array_equal(drawn(opened)[0], before)


def test_a_ring_in_many_dimensions_is_drawn_in_its_axes(open_page, tmp_path):
    angle = 2 * np.pi * np.arange(12) / 12
    nodes = np.column_stack([np.cos(angle), *np.zeros((2, 12)), np.sin(angle)])
    path = Trajectory([[k, (k + 1) % 12] for k in range(12)], nodes)
    write_report(tmp_path / "ring.html", path)
    opened = open_page(tmp_path / "ring.html")
    assert opened.page.get_by_role("radio", name="Flat").count() == 0
    places = drawn(opened)[0]
    np.testing.assert_allclose(np.hypot(places[:, 0], places[:, 1]), 1.0, rtol=1e-5)


def test_two_components_are_drawn_as_they_are(open_page, tmp_path):
    path = learn_trajectory(DATA.X, support=0)
    flat = Trajectory(path.edges_, path.nodes_[:, :2], path.view.points[:, :2])
    write_report(tmp_path / "two.html", flat)
    opened = open_page(tmp_path / "two.html")
    assert opened.page.get_by_role("radio", name="2-D").count() == 0
    np.testing.assert_allclose(drawn(opened)[0][:, :2], flat.view.points, rtol=1e-5, atol=1e-5)


def test_the_export_has_the_flat_drawing_with_its_scale(open_page, page_of_many):
    opened = open_page(page_of_many)
    opened.page.get_by_text("Export", exact=True).click()
    with opened.page.expect_download() as info:
        opened.page.get_by_role("button", name="Embedding as SVG").click()
    text = info.value.path().read_text("utf-8")
    assert "Lengths along the tree and distances from it are true." in text
