import math

import numpy as np
import pytest

from branchwise_paper.datasets import fetch_toy
from branchwise_paper.experiments import sensitivity
from branchwise_paper.experiments._scores import scores_of
from branchwise_paper.experiments._truth import truth_of
from branchwise_paper.experiments.cells import Computed
from branchwise_paper.experiments.settings import Settings


@pytest.fixture(autouse=True, scope="module")
def simulated():
    """Without the paper's files: what is simulated in their place has the truth with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BRANCHWISE_DATA", raising=False)
        yield


@pytest.fixture(scope="module")
def quick(tmp_path_factory, simulated):
    settings = Settings(out=tmp_path_factory.mktemp("sensitivity"), quick=True, n_processes=1)
    return settings, sensitivity.run(settings)


def test_quick_run_writes_its_files(quick):
    settings, outcome = quick
    for name in outcome.files:
        assert (settings.out / name).stat().st_size > 0
    assert "(sensitivity.png)" in outcome.text
    assert "quick run" in outcome.text
    n_fits = 2 * len(
        {*sensitivity.PANELS, *[(g, C) for g in (1e-3, 1.0) for C in (1e-2, 1e3, math.inf)]}
    )
    assert len((settings.out / "sensitivity.csv").read_text("utf-8").splitlines()) == 1 + n_fits


def test_the_four_observations_are_checked_and_hold(quick):
    checks = quick[1].checks
    assert {check.claim.split()[0] for check in checks} == {"(i)", "(ii)", "(iii)", "(iv)"}
    assert [check.claim for check in checks if not check.passed] == []


def test_checks_fail_for_shuffled_embeddings():
    data = fetch_toy("distorted_sshape")
    truth = truth_of("distorted_sshape", data.X, t=data.extras["t"])
    order = np.random.default_rng(0).permutation(len(data.X))
    noisy = data.X[order] + 0.1 * np.random.default_rng(1).standard_normal(data.X.shape)
    result = {"embedding": noisy, "edges": np.zeros((0, 2)), "excess": 1.0}
    fits = {
        (None, gamma, C): sensitivity.scored(
            data.X, truth, None, gamma, C, Computed(result, 0.0, [])
        )
        for gamma, C in sensitivity.PANELS
    }
    own = scores_of(data.X, data.X, truth)
    grid = [(1e-3, 1e3), (1e-3, math.inf)]
    checks = sensitivity.checks_of(data, own, fits, grid)
    failed = [check.claim for check in checks if not check.passed]
    for claim in ("(i) noise", "(iii) excess", "(iii) noise", "(iv) least order", "(iv) part"):
        assert any(text.startswith(claim) for text in failed), claim


def test_excess_is_the_slack_of_the_dual():
    """At the optimum an active edge exceeds its distance by ξ = s/(2C), and no other does."""
    from branchwise import SPL
    from branchwise.graph import squared_distances
    from branchwise_paper.experiments._scores import learned_edges

    X = fetch_toy("distorted_sshape").X
    found = sensitivity.fit_spl(X, scale="auto", gamma=1e-3, C="10.0")
    model = SPL(2, n_neighbors=10, gamma=1e-3, C=10.0).fit(X)
    weights = learned_edges(model.graph_)[1]
    slack = weights / (2 * 10.0) / model.scale_**2
    assert found["excess"] == pytest.approx(
        slack.sum() / squared_distances(X, model.edges_).sum(), rel=1e-3
    )


def test_a_failed_cell_is_told():
    X = fetch_toy("distorted_sshape").X
    truth = truth_of("distorted_sshape", X, t=np.arange(len(X)))
    with pytest.raises(RuntimeError, match=r"SPL with gamma=0.5 and C=3 failed: no luck"):
        sensitivity.scored(X, truth, None, 0.5, 3.0, Computed({}, 0.0, [], "no luck"))


def test_v_part_of_data_is_that_of_an_s():
    data = fetch_toy("distorted_sshape")
    assert sensitivity.v_part(data.X, data.extras["t"]) < 0.5
