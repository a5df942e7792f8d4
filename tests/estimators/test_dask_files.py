"""Model files of a DDRTree that was fitted to a Dask array."""

import dask.array as da
import numpy as np
import pytest

import branchwise
from branchwise import DDRTree
from branchwise.persistence.format import ModelFileError, read_state, write_state
from branchwise.trajectory import Trajectory

from ..conftest import branching


@pytest.fixture(scope="module")
def fitted():
    X = branching(300, 6)  # simulated
    return X, DDRTree(2, random_state=0).fit(da.from_array(X, chunks=(70, 6)))


def test_the_points_stay_behind_and_new_ones_are_placed_alike(fitted, tmp_path):
    X, model = fitted
    model.save(tmp_path / "tree.branchwise")
    loaded = branchwise.load(tmp_path / "tree.branchwise")
    assert loaded.embedding_.shape == loaded.projection_.shape == (0, 2)
    assert loaded.labels_.shape == (0,)
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    with pytest.raises(ValueError, match=r"does not have its points; pass points=model.project"):
        Trajectory.from_estimator(loaded)
    assert len(Trajectory.from_estimator(loaded, points=loaded.project(X)).pseudotime_) == 300


def test_a_loaded_model_is_drawn_with_points_that_are_given(fitted, tmp_path):
    X, model = fitted
    plotting = pytest.importorskip("branchwise.plotting")
    model.save(tmp_path / "tree.branchwise")
    loaded = branchwise.load(tmp_path / "tree.branchwise")
    with pytest.raises(
        ValueError, match=r"^the DDRTree .* does not have its points; draw Trajectory.from_estimat"
    ):
        plotting.plot_embedding(loaded)
    ax = plotting.plot_embedding(Trajectory.from_estimator(loaded, points=loaded.project(X)))
    assert len(ax.collections[0].get_offsets()) == 300
    pytest.importorskip("matplotlib.pyplot").close(ax.figure)


def test_training_data_of_a_dask_array_are_not_kept(fitted, tmp_path):
    X, model = fitted
    path = tmp_path / "tree.branchwise"
    model.save(path)
    for known in (model, branchwise.load(path)):
        for rows in (X, da.from_array(X, chunks=(70, 6))):
            with pytest.raises(
                ValueError,
                match=r"^include_training must be False for a DDRTree .* knows no rows; leave it",
            ):
                known.save(path, include_training=rows)


def test_points_that_were_fetched_are_kept(fitted, tmp_path):
    X, _ = fitted
    model = DDRTree(2, random_state=0).fit(da.from_array(X, chunks=(70, 6)))
    model.embedding_ = model.embedding_.compute()
    model.save(tmp_path / "tree.branchwise")
    loaded = branchwise.load(tmp_path / "tree.branchwise")
    np.testing.assert_array_equal(loaded.embedding_, model.embedding_)
    np.testing.assert_array_equal(loaded.labels_, model.labels_.compute())
    assert len(loaded.projection_) == 0
    model.projection_ = model.projection_.compute()
    model.save(tmp_path / "tree.branchwise")
    loaded = branchwise.load(tmp_path / "tree.branchwise")
    np.testing.assert_array_equal(loaded.projection_, model.project(X))


@pytest.mark.parametrize(
    ("n_points", "n_keys", "says"),
    [(0, 3, "3 row_keys"), (300, 7, "7 row_keys"), (1, 0, "two or more")],
)
def test_numbers_that_cannot_be_are_refused(fitted, tmp_path, n_points, n_keys, says):
    _, model = fitted
    path = tmp_path / "tree.branchwise"
    model.save(path)
    state = read_state(path)
    state["fitted"]["embedding_"] = np.zeros((n_points, 2))
    state["fitted"]["row_keys"] = np.zeros(n_keys, dtype=np.uint64)
    write_state(path, state)
    with pytest.raises(ModelFileError, match=says):
        branchwise.load(path)
    state["fitted"]["embedding_"] = np.zeros((300, 2))
    state["fitted"]["projection_"] = np.zeros((299, 2))
    write_state(path, state)
    with pytest.raises(ModelFileError, match="a projection_ of 299 and an embedding_ of 300 sampl"):
        branchwise.load(path)


def test_a_trajectory_takes_the_points_from_the_workers(fitted):
    X, model = fitted
    in_memory = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(X))
    np.testing.assert_allclose(
        Trajectory.from_estimator(model).pseudotime_, in_memory.pseudotime_, atol=1e-6
    )


def test_a_trajectory_is_saved_with_its_points(fitted, tmp_path):
    _, model = fitted
    path = Trajectory.from_estimator(model).rooted(sample=3)
    path.save(tmp_path / "path.branchwise")
    loaded = branchwise.load(tmp_path / "path.branchwise")
    np.testing.assert_array_equal(loaded.pseudotime_, path.pseudotime_)
