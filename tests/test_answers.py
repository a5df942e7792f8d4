"""The yardstick of answers, other programs' answers, and the page that shows them."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import adjusted_rand_score

from branchwise.graph.placement import Placement, distances_between

FOLDER = Path(__file__).parents[1] / "benchmarks"
sys.path.append(str(FOLDER))
answers, answers_page, measures, rivals, yardstick = map(
    import_module, ("answers", "answers_page", "measures", "rivals", "yardstick")
)


def small_set(**changes):
    """A start of two samples, and two fates of three samples each."""
    told = {
        "name": "small",
        "X": np.arange(16.0).reshape(8, 2),
        "label": np.array(["s", "s", "a", "a", "a", "b", "b", "b"]),
        "lineages": [["s", "a"], ["s", "b"]],
        "tips": 3,
        "root": "s",
        "time": np.full(8, np.nan),
        "branch": np.full(8, ""),
        "real": False,
        "source": "made by hand",
    }
    return yardstick.Set(**{**told, **changes})


# A fork with arms of length 1 and samples on each, in the order of the small set.
FORK = Placement(
    4,
    np.array([[0, 1], [1, 2], [1, 3]]),
    np.ones(3),
    np.array([0, 0, 1, 1, 1, 2, 2, 2]),
    np.array([0.2, 0.6, 0.2, 0.4, 0.6, 0.3, 0.5, 0.9]),
)


# Scores


def test_stages_are_compared_along_each_lineage():
    time = np.array([0.0, 0.1, 1, 2, 3, 0.5, -1, 2])
    first = spearmanr([0, 0, 1, 1, 1], time[[0, 1, 2, 3, 4]]).statistic
    second = spearmanr([0, 0, 1, 1, 1], time[[0, 1, 5, 6, 7]]).statistic
    assert yardstick.order(small_set(), time) == pytest.approx((first + second) / 2)


def test_known_times_take_the_place_of_stages():
    known = small_set(time=np.array([0.0, 1, 2, 3, 4, 2, 3, 4]))
    assert yardstick.order(known, known.time**2) == pytest.approx(1)
    assert yardstick.order(known, -known.time) == pytest.approx(-1)
    assert yardstick.order(known, np.zeros(8)) == 0


def test_samples_without_a_time_come_last():
    assert yardstick.rank_correlation(
        np.arange(4), np.array([0.0, 1, np.nan, np.nan])
    ) == pytest.approx(spearmanr(np.arange(4), [0, 1, 2, 2]).statistic)


def test_branches_are_judged_by_fates_where_only_these_are_known():
    """Fates are found but for one sample: Jaccard 2/3 and 3/4, whichever side it is seen from."""
    branch = np.array([9, 9, 0, 0, 1, 1, 1, 1])
    found = yardstick.score(small_set(), yardstick.Answer(np.arange(8.0), branch, 3, FORK))
    mean = (2 / 3 + 3 / 4) / 2
    assert found["F1"] == pytest.approx(2 * mean * mean / (mean + mean))
    assert found["ARI"] == pytest.approx(adjusted_rand_score([0, 0, 0, 1, 1, 1], branch[2:]))
    assert (found["tips"], found["dtips"]) == (3, 0)


def test_all_samples_are_judged_where_their_branches_are_known():
    known = small_set(branch=np.array(list("ssaaabbb")))
    assert yardstick.branches(known, np.array([5, 5, 2, 2, 2, 7, 7, 7])) == 1
    # One branch for all has the part of the largest one, and finds each by its own part.
    recovery, relevance = (2 + 3 + 3) / 8 / 3, 3 / 8
    expected = 2 * recovery * relevance / (recovery + relevance)
    assert yardstick.branches(known, np.zeros(8)) == pytest.approx(expected)
    assert yardstick.types(known, np.zeros(8)) == 0


def test_unknown_tips_are_not_compared():
    answer = yardstick.Answer(np.arange(8.0), np.zeros(8), 2, None)
    found = yardstick.score(small_set(tips=0), answer)
    assert np.isnan(found["dtips"])
    assert np.isnan(found["eff"])


def test_evenness_is_the_number_of_bins_that_samples_fill():
    even = Placement(
        3,
        np.array([[0, 1], [1, 2]]),
        np.array([1.0, 3.0]),
        np.repeat([0, 1], [25, 75]),
        np.concatenate([np.arange(0.5, 25) / 25, np.arange(0.5, 75) / 75]),
    )
    assert yardstick.evenness(even) == pytest.approx(100)
    clumped = even._replace(position=np.full(100, 0.5))
    share = np.array([0.25, 0.75])
    assert yardstick.evenness(clumped) == pytest.approx(np.prod(share**-share))


def test_nulls_are_the_same_every_time_and_differ_by_number():
    first, again = (list(yardstick.nulls(2, 20, 5)) for _ in range(2))
    assert len(first) == 2 * len(yardstick.NULLS)
    for (kind, number, X), (*_, Y) in zip(first, again, strict=True):
        np.testing.assert_array_equal(X, Y)
        assert kind == "shuffled columns" or X.shape == (20, 5), number
    assert not np.array_equal(first[0][2], first[1][2])


def test_simulated_trees_say_the_ways_to_their_tips():
    known = yardstick.simulated("bifurcation", 60, 0.01)
    assert known.tips == 3
    assert len(known.lineages) == 2
    assert yardstick.order(known, known.time) == pytest.approx(1)
    assert known.time[known.is_root].max() < known.time[~known.is_root].min()


# Other programs


def test_points_are_placed_as_distances_along_a_tree_say(rng):
    """The nearest places, against a loop over the edges that keeps the best."""
    nodes, points = rng.normal(size=(12, 3)), rng.normal(size=(40, 3))
    edges = np.array([[k, (k - 1) // 2] for k in range(1, 11)])  # node 11 has none
    placed = rivals.place(points, nodes, edges)
    assert placed.n_nodes == 11
    i, j = np.meshgrid(np.arange(40), np.arange(40))
    expected = measures.tree_distances(points, nodes, edges)
    np.testing.assert_allclose(distances_between(placed, i, j), expected, atol=1e-8)


def test_short_twigs_are_trimmed_and_ends_are_not():
    path = [[k, k + 1] for k in range(9)]
    twigs = [[4, 10], [5, 11], [11, 12], [12, 13]]  # of one node and of three
    edges = np.array(path + twigs)
    np.testing.assert_array_equal(rivals.trimmed(edges, 14, 3), np.array(path + twigs[1:]))
    np.testing.assert_array_equal(rivals.trimmed(edges, 14, 4), np.array(path))
    np.testing.assert_array_equal(rivals.trimmed(edges, 14, 1), edges)


def test_a_tree_is_rooted_where_the_samples_of_the_root_are():
    answer = rivals.of_placement(FORK, small_set().is_root)
    np.testing.assert_allclose(answer.pseudotime, [0.2, 0.6, 1.2, 1.4, 1.6, 1.3, 1.5, 1.9])
    assert yardstick.branches(small_set(branch=np.array(list("ssaaabbb"))), answer.branch) == 1
    assert answer.tips == 3
    # Samples around the fork are nearest to it, though it is not a tip.
    at_fork = rivals.of_placement(FORK, np.isin(np.arange(8), [1, 2, 5]))
    np.testing.assert_allclose(at_fork.pseudotime[[1, 2, 5]], [0.4, 0.2, 0.3])


def test_a_root_inside_a_branch_does_not_split_it():
    path = Placement(
        3,
        np.array([[0, 1], [1, 2]]),
        np.ones(2),
        np.array([0, 0, 1, 1]),
        np.array([0.1, 0.9, 0.1, 0.9]),
    )
    answer = rivals.of_placement(path, np.array([False, True, True, False]))
    np.testing.assert_allclose(answer.pseudotime, [0.9, 0.1, 0.1, 0.9])
    assert (answer.branch.tolist(), answer.tips) == ([0] * 4, 2)


def test_ours_is_judged_alike_and_needs_no_seed():
    """A line that time starts in the middle of, and its rows in another order."""
    known = yardstick.simulated("linear", 150, 0.05)
    middle = np.abs(known.time - np.median(known.time)) < 0.1 * np.ptp(known.time)
    first, again = (answers.ours(known.X, middle, seed, support=0) for seed in (0, 1))
    assert (len(set(first.branch.tolist())), first.tips) == (1, 2)
    np.testing.assert_allclose(first.pseudotime, again.pseudotime, atol=1e-6)
    np.testing.assert_allclose(first.placement.position, again.placement.position, atol=1e-6)


def test_clusters_between_forks_are_one_branch():
    """0 – 1 – 2, with 3 – 4 and 5 behind 2; cluster 0 is the root's."""
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [2, 5]])
    cluster, time = np.arange(6), np.arange(6.0)
    answer = rivals.of_clusters(time, cluster, edges, cluster == 0)
    assert answer.branch.tolist() == [0, 0, 0, 3, 3, 5]
    assert answer.tips == 3
    # A root in the middle of a path makes no branch of its own.
    path = rivals.of_clusters(time[:5], cluster[:5], edges[:4], cluster[:5] == 2)
    assert (path.branch.tolist(), path.tips) == ([2] * 5, 2)
    alone = rivals.of_clusters(time, np.zeros(6, dtype=int), np.empty((0, 2), int), cluster == 0)
    assert (alone.branch.tolist(), alone.tips) == ([0] * 6, 2)


def test_the_cell_to_start_from_is_in_the_middle_of_the_root_s():
    X = np.array([[0.0], [1.0], [5.0], [3.0]])
    assert rivals.medoid(X, np.array([True, True, True, False])) == 1


def test_parts_of_a_mixture_are_found(rng):
    Z = np.concatenate([rng.normal(size=(50, 2)), 20 + rng.normal(size=(50, 2))])
    cluster = rivals.mixture(Z, 0)
    assert sorted(set(cluster)) == [0, 1]
    assert len(set(cluster[:50])) == len(set(cluster[50:])) == 1


# Runs


def toy(X, is_root, seed):
    """Order by the first feature; a fork wherever there is one of two features."""
    tips = 3 if X.shape[1] == 2 else 2
    return yardstick.Answer(X[:, 0] + 0.0 * seed, np.zeros(len(X)), tips, None)


def test_a_run_has_scores_agreement_and_subsamples(tmp_path):
    sets = {"small": small_set()}
    seeds = [
        answers.run_case(toy, {"set": "small", "seed": seed}, sets, tmp_path) for seed in (0, 1)
    ]
    assert seeds[0]["agreement"] == []
    assert seeds[1]["agreement"] == [1]
    assert (seeds[0]["tips"], seeds[0]["dtips"], seeds[0]["eff"]) == (3, 0, None)
    part = answers.run_case(toy, {"set": "small", "part": 0}, sets, tmp_path)
    assert part["sub80"] == 1
    null = answers.run_case(toy, {"null": "curve", "draw": 1}, sets, tmp_path)
    assert null["tips"] == 2


def test_sets_that_took_long_are_not_fitted_again(tmp_path):
    np.savez(tmp_path / "small-0.npz", pseudotime=np.arange(8), seconds=500.0)
    sets = {"small": small_set()}
    for case in ({"seed": 1}, {"part": 0}):
        run = answers.run_case(toy, {"set": "small", **case}, sets, tmp_path)
        assert run == {"skipped": "the first fit took more than 120 s"}
    assert "tips" in answers.run_case(toy, {"set": "small", "seed": 0}, sets, tmp_path)


def test_a_run_that_fails_is_recorded_and_counts_as_zero(tmp_path):
    def method(X, is_root, seed):
        raise RuntimeError("no tree in /some/where/data.csv")

    sets = {"small": small_set()}
    run = answers.run_case(method, {"set": "small", "seed": 0}, sets, tmp_path)
    part = answers.run_case(method, {"set": "small", "part": 0}, sets, tmp_path)
    assert part == {"failed": "no fit to all rows that it could be compared with"}
    assert run == {"failed": "RuntimeError: no tree in …/data.csv"}
    figures = answers_page.of_set([{"seed": 0, **run}], {"tips": 3})
    assert [figures[name] for name in ("rho", "F1", "ARI", "dtips")] == [0, 0, 0, 3]
    assert np.isnan(figures["eff"])


def test_a_worker_that_ends_early_costs_one_case(monkeypatch, tmp_path):
    """A program in place of Python that writes a result, then ends by a signal; later, a word."""
    program = tmp_path / "python"
    program.write_text(
        "#!/bin/sh\n"
        """file=$(sed 's/.*"results": "\\([^"]*\\)".*/\\1/' "$3")\n"""
        """echo '{"tips": 2}' > "$file"\n"""
        f'if [ -e "{tmp_path}/again" ]; then echo last words >&2; exit 1; fi\n'
        f'touch "{tmp_path}/again"\nkill -14 $$\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(answers.sys, "executable", str(program))
    runs = answers.run_method("paga", [{"seed": seed} for seed in range(4)])
    expected = [None, "took more than 600 s", None, "last words"]
    assert [run.get("failed") for run in runs] == expected
    assert [run["seed"] for run in runs] == [0, 1, 2, 3]


def test_every_set_has_seeds_and_parts_and_every_null_its_draws():
    todo = answers.cases([small_set()], quick=False)
    assert [case for case in todo if "set" in case] == [
        *({"set": "small", "seed": seed} for seed in range(3)),
        *({"set": "small", "part": part} for part in range(2)),
    ]
    assert len(todo) == 5 + 5 * len(yardstick.NULLS)


# The page


def run_of(rho, tips, **more):
    scores = {"rho": rho, "F1": rho, "ARI": rho, "tips": tips, "eff": 60.0, "seconds": 1.0}
    return {"set": "small", "seed": 0, **scores, "agreement": [], **more}


def document_of(**methods):
    sets = [{"name": "small", "samples": 8, "features": 2, "tips": 3, "real": True, "source": "s"}]
    machine = {"cpu": "c"}
    found = {m: {"date": "d", "version": "1", "runs": runs} for m, runs in methods.items()}
    return {"machine": machine, "sets": sets, "methods": found}


PROGRAMS = {"branchwise": ("branchwise", "Ours."), "paga": ("PAGA", "Theirs.")}


def test_figures_of_a_set_are_medians_over_seeds_and_means_of_agreements():
    runs = [
        run_of(0.5, 3),
        run_of(0.9, 5, seed=1, agreement=[0.8]),
        run_of(0.6, 4, seed=2, agreement=[0.6, 1.0]),
        {"part": 0, "sub80": 0.7},
        {"part": 1, "sub80": 0.9},
    ]
    figures = answers_page.of_set(runs, {"tips": 3})
    assert figures["rho"] == 0.6
    assert figures["dtips"] == 1
    assert figures["seed"] == pytest.approx(0.8)
    assert figures["sub80"] == pytest.approx(0.8)


def test_page_tells_what_was_missed_and_where_another_is_better():
    nulls = [{"null": "curve", "draw": draw, "tips": 2 + (draw == 0)} for draw in range(2)]
    ours = [run_of(0.7, 3), {"set": "small", "part": 0, "sub80": 0.95}, *nulls]
    theirs = [run_of(0.9, 4), {"set": "small", "part": 0, "sub80": 0.5}]
    page = answers_page.render(document_of(branchwise=ours, paga=theirs), PROGRAMS, [])
    assert "ρ is 0.70 where at least 0.80 was asked for; ρ of PAGA is better, 0.90" in page
    assert "it loses on small (0.70 against 0.90 of PAGA)" in page
    assert "nulls with a fork is 0.50 where at most 0.10" in page
    assert (
        "| **branchwise** | 0.70 | 0.70 | 0.70 | 1 of 1 | 0.00 | 60 | – | 0.95 | 1 of 2 |" in page
    )
    assert "| small | 0.70 | **0.90** |" in page
    assert "| curve | 2–3 |" in page


def test_page_shows_how_constants_were_chosen_if_that_is_known():
    document = document_of(paga=[run_of(0.9, 3)])
    page = answers_page.render(document, PROGRAMS, [])
    assert "How the constants" not in page
    choice = [
        {"text": "35 settings were tried.", "rows": [{"set": "small", "chosen": 10}]},
        {"section": "What was missed, and why", "text": "Noise."},
    ]
    page = answers_page.render(document, PROGRAMS, choice)
    assert "35 settings were tried.\n\n| set | chosen |\n| --- | --- |\n| small | 10 |\n" in page
    assert page.count("## How the constants were chosen") == 1
    assert "## What was missed, and why\n\nNoise.\n" in page


def test_page_lists_fits_that_failed_or_were_left_out():
    runs = [
        run_of(0.9, 3),
        {"set": "small", "seed": 1, "failed": "ValueError: a|b"},
        {"set": "small", "part": 0, "skipped": "long"},
        {"null": "curve", "draw": 3, "failed": "no"},
    ]
    page = answers_page.render(document_of(paga=runs), PROGRAMS, [])
    assert "| PAGA | small | seed 1 | failed | ValueError: a\\|b |" in page
    assert "| PAGA | small | 80 %, number 0 | left out | long |" in page
    assert "| PAGA | curve, draw 3 |  | failed | no |" in page


def test_page_on_answers_shows_its_results():
    text = (FOLDER / "results" / "answers.json").read_text("utf-8")
    document = json.loads(text)
    assert (FOLDER / "answers.md").read_text("utf-8") == answers.page_of(document)
    assert answers.dumps(document) == text
    readme = (FOLDER.parent / "README.md").read_text("utf-8")
    assert answers_page.in_readme(readme, document, answers.PROGRAMS) == readme
