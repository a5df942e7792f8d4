import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import branchwise
from branchwise.cli import main
from branchwise.report import read_report
from branchwise.report.encoding import encode

from .conftest import read_rows, read_run

# Without the age, whose years have nearly all of the variance: that is a warning.
LABS = ("--id", "patient", "--exclude", "age")


def test_a_fit_writes_tables_model_picture_and_record(fitted):
    assert sorted(p.name for p in fitted.iterdir()) == [
        "branches.csv",
        "centers.csv",
        "evidence.csv",
        "figure.png",
        "figure.svg",
        "milestones.csv",
        "model.branchwise",
        "report.html",
        "run.json",
        "samples.csv",
        "support.csv",
        "tree.csv",
    ]


def test_the_embedding_is_that_of_python(fitted, simulated):
    X = StandardScaler().fit_transform(simulated[[f"lab{k}" for k in range(6)]])
    model = branchwise.learn_trajectory(X, support=0).estimator_
    found = pd.read_csv(fitted / "samples.csv", index_col=0)
    names = [f"ddrtree{k}" for k in range(6)]
    np.testing.assert_allclose(found[names], model.embedding_, atol=1e-9)
    assert found.index.tolist() == simulated["patient"].tolist()


def test_tables_fit_together(fitted):
    _, samples = read_rows(fitted / "samples.csv")
    header, centers = read_rows(fitted / "centers.csv")
    assert header == ["center", *(f"ddrtree{k}" for k in range(6))]
    header, edges = read_rows(fitted / "tree.csv")
    assert header == ["source", "target", "length", "weight"]
    assert len(edges) == len(centers) - 1
    positions = np.array(centers, dtype=float)[:, 1:]
    for source, target, length, _ in edges:
        distance = np.linalg.norm(positions[int(source)] - positions[int(target)])
        assert float(length) == pytest.approx(distance)
    times = pd.read_csv(fitted / "samples.csv", index_col=0)
    branches = pd.read_csv(fitted / "branches.csv", index_col=0)
    assert times.index.tolist() == [row[0] for row in samples]
    assert set(times["branch"]) <= set(branches.index)
    assert branches["n_samples"].sum() == len(times)


def test_a_tree_between_groups_is_said_to_be_empty(tmp_path, branchwise):
    rng = np.random.default_rng(0)
    groups = np.repeat([[0.0, 0.0, 0.0], [9.0, 0.0, 1.0], [16.0, 7.0, 0.0]], 60, axis=0)
    table = pd.DataFrame(groups + 0.05 * rng.standard_normal(groups.shape), columns=list("abc"))
    table.to_csv(tmp_path / "groups.csv", index=False)
    code, out, err = branchwise("fit", tmp_path / "groups.csv", "-o", tmp_path / "out")
    run = read_run(tmp_path / "out")
    occupied = run["graph"]["occupied"]
    assert code == 0
    assert 0 < occupied < 0.5
    assert f"warning: only {100 * occupied:.0f} % of the tree's length has samples" in err
    assert f"{100 * occupied:.0f} % of it with samples" in out
    assert any(text.startswith("only ") for text in run["warnings"])


def test_half_full_trees_are_not_warned_of(fitted):
    run, branches = read_run(fitted), pd.read_csv(fitted / "branches.csv", index_col=0)
    mean = np.average(branches["occupied"], weights=branches["length"])
    assert run["graph"]["occupied"] == pytest.approx(mean)
    assert mean > 0.5
    assert not any("of the tree's length" in text for text in run["warnings"])


def test_annotations_are_kept_and_excluded_columns_are_no_features(fitted, simulated):
    run = read_run(fitted)
    assert run["input"]["n_features"] == 6
    assert set(run["columns"]["annotations"]) == {"age", "sex", "stage"}
    found = pd.read_csv(fitted / "samples.csv", index_col=0)
    assert found["age"].tolist() == simulated["age"].tolist()
    assert found["stage"].tolist() == simulated["stage"].tolist()


def test_time_starts_where_the_label_is_most_frequent(fitted, simulated):
    times = pd.read_csv(fitted / "samples.csv", index_col=0)["pseudotime"]
    by_stage = times.groupby(simulated.set_index("patient")["stage"]).median()
    assert by_stage["early"] < by_stage["late"]


def test_the_record_tells_how_to_get_the_same_again(fitted, table):
    run = read_run(fitted)
    assert run["input"]["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    assert (run["method"], run["way"]) == ("DDRTree", "auto")
    assert run["parameters"]["n_components"] == 6
    assert run["support"]["resamples"] + run["support"]["failed"] == 3
    assert sum(run["support"]["tips"].values()) == run["support"]["resamples"]
    path = branchwise.load(fitted / "model.branchwise").trajectory
    assert run["found"] == path.describe().splitlines()
    assert run["found"][2].startswith("Of 3 resamples, ")
    assert run["preparation"]["standardize"] is True
    assert run["versions"]["numpy"] == np.__version__
    assert run["branchwise"] == branchwise.__version__
    assert run["converged"] is True
    stages = {"read", "prepare", "fit", "trajectory", "trust", "support", "write", "hash"}
    stages |= {"report"}
    assert set(run["seconds"]) == stages
    assert run["objective"] == branchwise.load(fitted / "model.branchwise").estimator.objective_


def contents(folder):
    """What files hold, but for when and how fast they were made, which two of them tell."""
    found = {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "run.json"}
    state = read_report(folder / "report.html")
    del state["facts"]["seconds"], state["facts"]["started"]
    found["report.html"] = encode(state)
    return found


def test_a_run_is_repeated_from_its_record(table, tmp_path, branchwise):
    out = tmp_path / "first run"
    given = ("--id", "patient", "--impute", "drop", "--adjust", "age,sex", "--root", "stage=early")
    assert branchwise("fit", table, "-o", out, *given, "--lam", "3")[0] == 0
    program, *arguments = shlex.split(read_run(out)["command"]["line"])
    assert program == "branchwise"
    before = contents(out)
    assert branchwise(*arguments, "--force")[0] == 0
    assert contents(out) == before


def test_the_same_command_gives_the_same_files(table, tmp_path):
    for name in ("a", "b"):
        given = ["fit", str(table), "-o", str(tmp_path / name), "--id", "patient", "--root", "T1"]
        assert main(given) == 0
    one, other = contents(tmp_path / "a"), contents(tmp_path / "b")
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.parametrize(
    ("method", "given"),
    [
        ("ddrtree", ["--n_centers", "20", "--gamma", "5", "--n_components", "3"]),
        ("ddrtree", ["--structure", "ring", "--assignment", "hard"]),
        ("drtree", ["--lam", "2", "--n-components", "1"]),
        ("spl", ["--n_neighbors", "5", "--C", "10", "--loss", "absolute", "--scale", "auto"]),
        ("spl", ["--kernel", "rbf", "--kernel_params", '{"gamma": 0.1}', "--max-iter", "300"]),
    ],
)
def test_parameters_go_by_their_python_names(method, given, table, tmp_path, branchwise):
    out = tmp_path / "out"
    code, _, err = branchwise("fit", table, "-o", out, *LABS, "--method", method, *given)
    assert (code, err) == (0, "")
    parameters = read_run(out)["parameters"]
    for name, value in zip(given[::2], given[1::2], strict=True):
        kept = parameters[name.lstrip("-").replace("-", "_")]
        assert kept == (json.loads(value) if value[0] in "{0123456789" else value)
    header, centers = read_rows(out / "centers.csv")
    assert len(header) == 1 + read_run(out)["n_components"]
    assert len(centers) == (20 if "--n_centers" in given else len(centers))


def test_options_and_signatures_agree():
    from inspect import signature

    from branchwise.cli.arguments import PARAMETERS

    for method in (branchwise.DDRTree, branchwise.DRTree, branchwise.SPL):
        names = {p.name for p in PARAMETERS if method.__name__.lower() in p.methods}
        # What a terminal cannot pass, or what the console does itself.
        assert set(signature(method).parameters) - names == {"verbose", "callback"} | (
            {"init"} if method is branchwise.DDRTree else set()
        )


def test_tables_as_parquet(table, tmp_path, branchwise):
    out = tmp_path / "out"
    assert branchwise("fit", table, "-o", out, "--id", "patient", "--format", "parquet")[0] == 0
    found = pd.read_parquet(out / "samples.parquet")
    assert found.index[0] == "P000"
    assert not list(out.glob("*.csv"))


def test_machines_read_json(table, tmp_path, branchwise):
    code, out, err = branchwise("fit", table, "-o", tmp_path / "out", *LABS, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == read_run(tmp_path / "out")
    code, out, err = branchwise("fit", "nothing.csv", "-o", tmp_path / "other", "--json")
    assert code == 1
    assert json.loads(out)["exit_code"] == 1
    assert "nothing.csv" in json.loads(out)["error"]
    assert len(err.splitlines()) == 1


def test_missing_values_are_named_with_what_to_do(simulated, tmp_path, branchwise):
    frame = simulated.copy()
    frame.loc[[3, 7], "lab1"] = np.nan
    frame.loc[5, "lab4"] = np.nan
    path = tmp_path / "gaps.csv"
    frame.to_csv(path, index=False)
    code, _, err = branchwise("fit", path, "-o", tmp_path / "out", "--id", "patient")
    assert code == 1
    assert "lab1" in err
    assert "--impute median" in err
    assert not (tmp_path / "out").exists()
    assert (
        branchwise("fit", path, "-o", tmp_path / "m", "--id", "patient", "--impute", "median")[0]
        == 0
    )
    code, out, _ = branchwise(
        "fit", path, "-o", tmp_path / "d", "--id", "patient", "--impute", "drop"
    )
    assert code == 0
    assert "3 dropped" in out
    assert read_run(tmp_path / "d")["input"]["dropped"] == ["P003", "P005", "P007"]
    assert len(read_rows(tmp_path / "m" / "samples.csv")[1]) == 150
    assert len(read_rows(tmp_path / "d" / "samples.csv")[1]) == 147


def test_a_tree_fills_gaps_of_the_fit_and_of_later_tables(simulated, tmp_path, branchwise):
    frame = simulated.drop(columns=["age"])
    is_gap = np.random.default_rng(0).random((150, 6)) < 0.1
    frame.iloc[:, 1:7] = frame.iloc[:, 1:7].mask(is_gap)
    path, new, out = tmp_path / "gaps.csv", tmp_path / "new.csv", tmp_path / "out"
    frame.to_csv(path, index=False)
    given = ["fit", path, "-o", out, "--id", "patient", "--impute", "model", "--standardize"]
    code, _, err = branchwise(*given, "--root", "stage=early", "--support", "0")
    assert code == 0, err
    assert read_run(out)["preparation"]["impute"] == "model"
    code, _, err = branchwise("transform", out / "model.branchwise", path, "-o", new)
    assert code == 0, err
    assert len(read_rows(new)[1]) == 150


def test_an_empty_column_is_named_before_a_tree_is_learned(simulated, tmp_path, branchwise):
    path = tmp_path / "empty.csv"
    simulated.assign(lab1=np.nan).to_csv(path, index=False)
    given = ["fit", path, "-o", tmp_path / "out", "--id", "patient"]
    for more in ([], ["--impute", "model"], ["--impute", "median"], ["--impute", "drop"]):
        code, _, err = branchwise(*given, *more)
        assert code == 1
        assert "has 1 column without any value ('lab1'); leave it out: --exclude lab1." in err


def test_empty_columns_are_told_with_all_that_is_wrong(simulated, tmp_path, branchwise):
    words = np.where(simulated.index % 7, "3", "<1")
    gaps = simulated["lab0"].where(simulated.index > 0)
    frame = simulated.assign(lab0=gaps, lab1=np.nan, lab2=words)
    frame.to_csv(tmp_path / "a.csv", index=False)
    code, _, err = branchwise("fit", tmp_path / "a.csv", "-o", tmp_path / "out")
    assert code == 1
    _, first, second = err.strip().splitlines()
    assert "the first '<1' in data row 1. Write a number" in first
    assert second.startswith("Besides, the rest has 1 column without any value ('lab1'); leave it")
    assert "--exclude lab1. Without it the table has 1 missing value in 1 column: " in second
    assert "'lab0' 1 of 150; pass" in second


def test_an_existing_result_is_replaced_only_by_force(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ("fit", table, "-o", out, "--id", "patient", "--figure", "none")
    assert branchwise(*given)[0] == 0
    before = (out / "run.json").read_bytes()
    code, _, err = branchwise(*given)
    assert code == 1
    assert (
        err == f"branchwise fit: {out} exists; choose another -o, or add --force to replace it.\n"
    )
    assert (out / "run.json").read_bytes() == before
    assert branchwise(*given, "--force", "--n_components", "3")[0] == 0
    assert read_run(out)["n_components"] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_is_no_result_is_never_replaced(table, tmp_path, branchwise):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("mine")
    code, _, err = branchwise("fit", table, "-o", tmp_path / "thesis", "--force")
    assert code == 1
    assert "is not a result of branchwise fit" in err
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "mine"


def test_a_failed_fit_leaves_nothing_and_keeps_what_was_there(
    fitted, tmp_path, branchwise, monkeypatch
):
    import shutil

    out = tmp_path / "out"
    shutil.copytree(fitted, out)
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n3,4\n5,7\n")

    def broken(*given, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr("branchwise.cli.fit.write_json", broken)
    code, _, err = branchwise("fit", table, "-o", out, "--force")
    assert (code, err) == (1, "branchwise fit: No space left on device\n")
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "t.csv"]


def test_an_interrupt_that_a_compiler_swallows_is_not_printed():
    """As llvmlite's callbacks do; what else is swallowed is still told."""
    code = (
        "import ctypes\n"
        "from branchwise.cli.main import _without_swallowed\n"
        "def raises(error):\n"
        "    def call():\n"
        "        raise error\n"
        "    return ctypes.CFUNCTYPE(None)(call)\n"
        "with _without_swallowed([2]):\n"
        "    raises(KeyboardInterrupt)()\n"
        "    raises(ValueError('told'))()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "KeyboardInterrupt" not in done.stderr
    assert "ValueError: told" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "kill"])
def test_a_stopped_fit_leaves_nothing(number, tmp_path):
    """The fit is stopped in its loop, which an option makes endless."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "many.npy", rng.normal(size=(4000, 10)))
    marker = tmp_path / "started"
    code = (
        "import sys, pathlib, branchwise.cli.fit as fit\n"
        "original = fit.fit_pipeline\n"
        "def learn(*given, on_stage, **options):\n"
        "    def told(name):\n"
        "        on_stage(name)\n"
        f"        if name == 'fit': pathlib.Path({str(marker)!r}).touch()\n"
        "    return original(*given, on_stage=told, **options)\n"
        "fit.fit_pipeline = learn\n"
        "from branchwise.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    given = ["fit", str(tmp_path / "many.npy"), "-o", str(tmp_path / "out")]
    given += ["--tol", "0", "--max_iter", "100000000"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *given], stderr=subprocess.PIPE, text=True
    )
    while not marker.exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    time.sleep(0.3)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "nothing was written" in err
    assert "Traceback" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["many.npy", "started"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--method", "spl", "--n_centers", "5"], "--n_centers is a parameter of ddrtree, not of"),
        (["--n_components", "0"], "n_components"),
        (["--loss", "cubic", "--method", "spl"], "loss"),
        (["--root", "=x"], "must be a milestone (T1), node=12, sample=P007"),
        (["--pca", "0"], "--pca 0 must be at least 1"),
    ],
    ids=["other method", "zero", "word", "root", "pca"],
)
def test_wrong_values_are_wrong_usage(given, says, table, tmp_path, branchwise):
    code, out, err = branchwise("fit", table, "-o", tmp_path / "out", *given)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--root", "stage=never"], "'never' is none of the labels in column 'stage'; they are"),
        (["--root", "grade=3"], "--root: "),
        (["--root", "T99"], "is not a node of the graph; valid are"),
        (["--root", "sample=Q1"], "is not a sample; the names are"),
        (["--root", "age=old"], "must be a number"),
        (["--color", "colour"], "has no column 'colour'; "),
        (["--exclude", "lab77"], "has no column 'lab77'; did you mean 'lab"),
        (["--adjust", "weight"], "has no column 'weight'"),
        (["--id", "stage"], "must be unique"),
        (["--pca", "50"], "pca"),
        (["--n_components", "50", "--method", "ddrtree"], "n_components=50 must be at most"),
    ],
    ids=lambda value: value[0].lstrip("-") + value[-1] if isinstance(value, list) else "",
)
def test_data_errors_are_one_line(given, says, table, tmp_path, branchwise):
    identified = [] if "--id" in given else ["--id", "patient"]
    code, out, err = branchwise(
        "fit", table, "-o", tmp_path / "out", "--standardize", *identified, *given
    )
    assert (code, out) == (1, "")
    assert says in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_values_without_a_logarithm_are_named(tmp_path, branchwise):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,-4\n5,7\n")
    code, _, err = branchwise("fit", tmp_path / "t.csv", "-o", tmp_path / "out", "--log1p")
    assert code == 1
    assert "'b'" in err
    assert "-4" in err
    assert len(err.splitlines()) == 1


def test_debug_shows_the_traceback(tmp_path):
    given = ["fit", "nothing.csv", "-o", str(tmp_path / "out"), "--debug"]
    with pytest.raises(FileNotFoundError):
        main(given)


def test_bugs_are_one_line_too(table, tmp_path, branchwise, monkeypatch):
    def broken(*given, **options):
        raise KeyError("surprise")

    monkeypatch.setattr("branchwise.cli.fit.fit_pipeline", broken)
    code, _, err = branchwise("fit", table, "-o", tmp_path / "out", "--id", "patient")
    assert code == 1
    assert "unexpected KeyError: 'surprise'; run again with --debug" in err
    assert len(err.splitlines()) == 1


def test_warnings_are_lines_and_part_of_the_record(table, tmp_path, branchwise):
    out = tmp_path / "out"
    code, _, err = branchwise("fit", table, "-o", out, *LABS, "--max_iter", "2")
    assert code == 0
    assert err.startswith("branchwise: warning: DDRTree stopped after 2 of max_iter=2")
    assert len(err.splitlines()) == 1
    assert read_run(out)["warnings"][0] in err


def test_ends_give_progress(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ("fit", table, "-o", out, "--id", "patient", "--prune", "--root", "T1", "--end", "T2")
    assert branchwise(*given)[0] == 0
    progress = pd.read_csv(out / "samples.csv")["progress"]
    assert progress.min() == pytest.approx(0, abs=0.05)
    assert progress.max() == pytest.approx(1, abs=0.05)


def test_the_package_runs_as_a_module(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "branchwise", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"branchwise {branchwise.__version__}\n"


def test_help_comes_without_the_libraries_of_a_fit():
    code = "import sys; from branchwise.cli.arguments import build_parser as build"
    code += "; build().format_help()"
    code += "; print([m for m in ('sklearn', 'pandas', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "command", ["fit", "transform", "plot", "score", "info", "demo", "completion"]
)
def test_every_command_has_help_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "example" in out
    assert f"branchwise {command}" in out.split("example")[1]
    assert max(len(line) for line in out.splitlines()) <= 100


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_knows_commands_and_options(shell, branchwise):
    code, out, err = branchwise("completion", shell)
    assert (code, err) == (0, "")
    for word in ("transform", "n_components", "standardize"):
        assert word in out


def test_bash_completes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "branchwise", "completion", "bash"],
        capture_output=True,
        text=True,
        check=True,
    )
    script = tmp_path / "branchwise.bash"
    script.write_text(done.stdout)
    (tmp_path / "patients.csv").touch()
    for words, completed in (("tr", "transform"), ("fit pat", "patients.csv")):
        ask = (
            f"source {script}; COMP_WORDS=(branchwise {words}); COMP_CWORD={len(words.split())}; "
            "_shtab_branchwise; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        found = subprocess.run(
            ["bash", "-c", ask], capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert found.stdout.split() == [completed]


def test_zsh_completes_the_names_of_files(branchwise):
    _, script, _ = branchwise("completion", "zsh")
    for argument in (":table to read:_files", ":folder of a fit:_files"):
        assert argument in script


def test_a_closed_pipe_is_no_error(fitted, simulated, tmp_path):
    many = simulated.loc[simulated.index.repeat(100)].assign(patient=range(15000))
    many.to_csv(tmp_path / "many.csv", index=False)
    command = (
        f"{sys.executable} -m branchwise transform {fitted} {tmp_path / 'many.csv'} | head -n 1"
    )
    done = subprocess.run(
        ["bash", "-c", f"{command}; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_one_progress_bar_on_a_terminal(table, tmp_path):
    import fcntl
    import pty
    import struct
    import termios

    code = (
        "import sys, branchwise.cli.console as console; console.SECONDS_BEFORE_BAR = 0\n"
        "from branchwise.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    given = ["fit", str(table), "-o", str(tmp_path / "out"), *LABS, "--figure", "none"]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", code, *given], stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    with os.fdopen(ours, "rb") as screen:
        try:
            while block := screen.read1(1024):
                shown += block
        except OSError:  # what Linux says when the other end is closed
            assert process.wait(timeout=60) == 0
    assert process.wait(timeout=60) == 0
    assert b"DDRTree" in shown
    assert b"objective" in shown
    assert b"\n" not in shown.strip()
    assert process.stdout.read().startswith(b"data ")
    process.stdout.close()


def test_numbers_of_all_tables_have_digits_that_people_read(table, fitted, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ["--exclude", "age", "--standardize", "--root", "stage=early", "--no-support"]
    assert branchwise("fit", table, "-o", out, *given, "--figure", "none", "--no-report")[0] == 0
    for name in ("centers", "tree", "branches", "milestones", "evidence"):
        short, full = (pd.read_csv(f / f"{name}.csv", index_col=0) for f in (out, fitted))
        for column in short.columns[[kind.kind == "f" for kind in short.dtypes]]:
            digits = [float(f"{value:.5g}") for value in full[column]]
            np.testing.assert_allclose(short[column], digits, rtol=1e-12)
