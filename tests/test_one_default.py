"""The same table gives the same answer, wherever one asks."""

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest

import branchwise
from branchwise.cli import main
from branchwise.datasets import make_tree
from branchwise.pipeline import fit_pipeline
from branchwise.trajectory import learn_trajectory


@pytest.fixture(scope="module")
def table():
    data = make_tree(300, 8, topology="bifurcation", random_state=1)  # simulated
    columns = [f"lab {k}" for k in range(8)]
    names = [f"P{k:03}" for k in range(300)]
    return pd.DataFrame(data.X.round(4), index=pd.Index(names, name="patient"), columns=columns)


@pytest.fixture(scope="module")
def expected(table):
    return branchwise.learn_trajectory(table, support=0)


def check_same(found, expected):
    assert len(expected.branch_table_) == 3
    np.testing.assert_array_equal(found.nodes_, expected.nodes_)
    np.testing.assert_array_equal(found.edges_, expected.edges_)
    np.testing.assert_array_equal(found.pseudotime_, expected.pseudotime_)
    assert found.branches_.tolist() == expected.branches_.tolist()
    np.testing.assert_array_equal(found.branch_table_["p"], expected.branch_table_["p"])


def test_the_same_function_under_its_two_names():
    assert branchwise.learn_trajectory is learn_trajectory


def test_the_pipeline(table, expected):
    check_same(fit_pipeline(table).trajectory, expected)


def test_the_command_line(table, expected, tmp_path):
    table.to_csv(tmp_path / "table.csv")
    given = ["fit", str(tmp_path / "table.csv"), "-o", str(tmp_path / "out"), "--full-precision"]
    assert main(given) == 0
    check_same(branchwise.load(tmp_path / "out" / "model.branchwise").trajectory, expected)
    times = pd.read_csv(tmp_path / "out" / "samples.csv", index_col=0)
    assert times["branch"].tolist() == expected.branches_.tolist()
    np.testing.assert_allclose(times["pseudotime"], expected.pseudotime_, rtol=1e-12)


def test_a_dask_array_has_the_same_answer_and_says_that_nothing_is_resampled(table, expected):
    chunks = da.from_array(table.to_numpy(), chunks=(70, 8))
    with pytest.warns(UserWarning, match="nothing is learned again from resamples"):
        found = branchwise.learn_trajectory(chunks)
    assert found.support_ is None
    assert found.branches_.tolist() == expected.branches_.tolist()
    np.testing.assert_allclose(found.pseudotime_, expected.pseudotime_, atol=1e-6)


def test_annotated_data(table, expected):
    adata = anndata.AnnData(table)
    branchwise.tl.trajectory(adata, support=0)
    obs = adata.obs
    [time] = [name for name in obs if name.endswith("pseudotime")]
    [branch] = [name for name in obs if name.endswith("branch") and "likeliest" not in name]
    np.testing.assert_array_equal(obs[time], expected.pseudotime_)
    assert obs[branch].tolist() == expected.branches_.tolist()
