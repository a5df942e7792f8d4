"""`--scheduler`: the same results from a table that stays in its file, wherever Dask works."""

import asyncio
import io
import json
import subprocess
import sys
import time

import dask
import numpy as np
import pandas as pd
import pytest
import zarr
from distributed.client import FutureCancelledError

from branchwise.cli import cluster, main

from .conftest import read_run

N = 150
PARAMETERS = ["--n_centers", "25", "--figure", "none"]


@pytest.fixture(scope="module")
def files(simulated, tmp_path_factory):
    """The simulated patients as Parquet, and their numbers as a plain array in zarr format."""
    folder = tmp_path_factory.mktemp("files")
    simulated.to_parquet(folder / "patients.parquet", row_group_size=20, index=False)
    values = simulated[[f"lab{k}" for k in range(6)]].to_numpy()
    array = zarr.open_array(
        str(folder / "data.zarr"), mode="w", shape=values.shape, chunks=(20, 6), dtype=values.dtype
    )
    array[:] = values
    return folder


@pytest.fixture(autouse=True)
def small_chunks():
    """Eight chunks of 20 rows of six numbers, and of seven with the age."""
    with dask.config.set({"array.chunk-size": 20 * 7 * 8}):
        yield


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """The address of a scheduler with one worker, in processes of their own."""
    folder = tmp_path_factory.mktemp("cluster")
    described, started = folder / "scheduler.json", []

    def start(module, *options):
        command = [sys.executable, "-m", f"distributed.cli.{module}", *map(str, options)]
        command += ["--no-dashboard", "--host", "127.0.0.1"]
        started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=folder))

    try:
        start("dask_scheduler", "--port", 0, "--scheduler-file", described)
        address = wait_for_address(described)
        start("dask_worker", address, "--nthreads", 1, "--local-directory", folder)
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(timeout=30)


def wait_for_address(path):
    for _ in range(300):
        if path.exists() and path.stat().st_size:
            return json.loads(path.read_text())["address"]
        time.sleep(0.1)
    raise TimeoutError("the scheduler has not started")


# Rows of a table that stays in its file are not held out: nothing is known of these.
UNKNOWN = ["p", "misfit", "out_of_range", "drivers"]
UNKNOWN_OF_TREE = [
    *("pseudotime_lower", "pseudotime_upper", "branch_probability", "likeliest_branch"),
]


def assert_same_tables(out, expected, names=("samples", "centers")):
    for name in names:
        found, wanted = (
            pd.read_csv(folder / f"{name}.csv", index_col=0) for folder in (out, expected)
        )
        if name == "samples":
            assert found.columns.tolist() == wanted.columns.tolist()
            left_out = [c for c in (*UNKNOWN, *UNKNOWN_OF_TREE) if c in found]
            assert found[left_out].isna().all(axis=None)
            found, wanted = (frame.drop(columns=left_out) for frame in (found, wanted))
        pd.testing.assert_frame_equal(found, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["threads", "local", "cluster"])
def test_scheduled_fit_equals_the_one_in_memory(kind, files, running, tmp_path, branchwise):
    address = running if kind == "cluster" else kind
    given = [files / "data.zarr", *PARAMETERS, "--standardize", "--root", "auto"]
    assert branchwise("fit", *given, "-o", tmp_path / "memory")[0] == 0
    code, text, err = branchwise("fit", *given, "-o", tmp_path / "out", "--scheduler", address)
    assert code == 0, err
    assert text.startswith("data       150 samples x 6 features")
    assert ("dashboard at http://" in err) == (kind != "threads")
    assert_same_tables(tmp_path / "out", tmp_path / "memory", ("samples", "centers", "tree"))
    run = read_run(tmp_path / "out")
    assert run["scheduler"]["kind"] == kind
    assert run["scheduler"]["workers"] >= 1
    assert (run["scheduler"]["chunks"], run["scheduler"]["rows per chunk"]) == (8, 20)
    assert run["versions"]["dask"] == dask.__version__
    assert run["input"]["sha256"] is None
    assert "scheduler" not in read_run(tmp_path / "memory")


def test_result_can_be_used_as_any_other(files, tmp_path, branchwise):
    out, table = tmp_path / "out", files / "patients.parquet"
    given = ["--root", "stage=early", "--prune", "--color", "stage", "lab0", "--exclude", "age"]
    code, _, err = branchwise(
        "fit", table, "-o", out, "--scheduler", "threads", "--n_centers", 25, *given
    )
    assert (code, err) == (0, "")
    assert (out / "figure.png").exists()
    assert pd.read_csv(out / "samples.csv", index_col=0).index[0] == "P000"
    for command in (["plot", out, "--kind", "layout"], ["score", out, "--labels", "stage"]):
        assert branchwise(*command)[0] == 0
    assert "samples        150" in branchwise("info", out)[1]
    code, _, err = branchwise("plot", out, "--kind", "trends")
    assert code == 1
    assert "was read chunk by chunk (--scheduler), but features along the tree are drawn" in err


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_new_rows_are_written_chunk_by_chunk(fitted, files, tmp_path, branchwise, ending):
    paths = [tmp_path / f"{name}.{ending}" for name in ("memory", "lazy")]
    for path, options in zip(paths, ([], ["--scheduler", "threads"]), strict=True):
        code, text, _ = branchwise(
            "transform", fitted, files / "patients.parquet", "-o", path, *options
        )
        assert code == 0
        assert text == f"150 rows placed in {path}\n"
    if ending == "parquet":
        frames = [pd.read_parquet(path) for path in paths]
    else:
        separator = "\t" if ending == "tsv" else ","
        frames = [pd.read_csv(path, index_col=0, sep=separator) for path in paths]
    assert len(frames[0]) == N
    # Numbers that are not features stay in the file.
    assert set(frames[1]) <= set(frames[0])
    pd.testing.assert_frame_equal(frames[0][frames[1].columns], frames[1], rtol=1e-9)


def test_new_rows_to_the_screen_and_as_json(fitted, files, branchwise):
    given = ["transform", fitted, files / "patients.parquet", "--scheduler", "threads"]
    code, text, err = branchwise(*given)
    assert code == 0
    places = pd.read_csv(io.StringIO(text), index_col=0)
    assert places.shape[0] == N
    facts = json.loads(branchwise(*given, "--json")[1])
    n_far, n_between = facts["far"], facts["between_branches"]
    assert (n_far, n_between) == (
        (places["p"] <= 0.05).sum(),
        (places["likeliest_branch"] != places["branch"]).sum(),
    )
    assert [line.split(" of 150 rows")[0] for line in err.splitlines()] == [
        f"branchwise: {n_far}",
        f"branchwise: {n_between}",
    ]
    assert facts["n_samples"] == len(facts["places"]) == N


def test_rows_that_miss_a_value_are_placed_chunk_by_chunk(simulated, table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ["--id", "patient", "--exclude", "age", "--impute", "drop", "--figure", "none"]
    assert branchwise("fit", table, "-o", out, *given)[0] == 0
    holes = simulated.copy()
    holes.loc[[3, 77], "lab2"] = np.nan
    holes.to_parquet(tmp_path / "holes.parquet", row_group_size=20, index=False)
    placed = tmp_path / "placed.csv"
    given = [out, tmp_path / "holes.parquet", "-o", placed, "--scheduler", "threads"]
    code, text, _ = branchwise("transform", *given)
    assert code == 0
    assert text == f"150 rows placed in {placed}\n"
    found = pd.read_csv(placed, index_col=0)
    assert found.index[found["missing"] == 1].tolist() == ["P003", "P077"]
    assert found[["distance", "p"]].notna().all(axis=None)


def test_missing_values_are_counted_by_column(simulated, tmp_path, branchwise):
    holes = simulated.copy()
    holes.loc[[3, 77], "lab2"] = np.nan
    holes.to_parquet(tmp_path / "holes.parquet", row_group_size=20, index=False)
    code, out, err = branchwise(
        "fit", tmp_path / "holes.parquet", "-o", tmp_path / "out", "--scheduler", "threads"
    )
    assert (code, out) == (1, "")
    assert "has 2 missing values in 1 column: 'lab2' 2 of 150; " in err


@pytest.mark.parametrize("method", ["drtree", "spl"])
def test_landmarks_of_other_methods_place_all_rows(method, files, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ["--method", method, "--figure", "none", "--n_landmarks", 60, "--root", "auto"]
    code, _, err = branchwise(
        "fit", files / "data.zarr", "-o", out, "--scheduler", "threads", *given
    )
    assert code == 0, err
    assert len(pd.read_csv(out / "samples.csv")) == N
    assert len(pd.read_csv(out / "samples.csv")) == N
    assert len(pd.read_csv(out / "centers.csv")) == 60
    assert "samples        150" in branchwise("info", out)[1]
    code, text, _ = branchwise("transform", out, files / "data.zarr")
    assert code == 0
    placed = pd.read_csv(io.StringIO(text), index_col=0)
    own = pd.read_csv(out / "samples.csv", index_col=0)
    assert placed.columns.tolist() == own.columns.tolist()
    pd.testing.assert_frame_equal(placed, own, check_dtype=False, rtol=1e-4, atol=1e-6)


def test_fit_goes_on_from_a_checkpoint(files, tmp_path, branchwise):
    checkpoint = tmp_path / "fit.checkpoint"
    given = [files / "data.zarr", *PARAMETERS, "--scheduler", "threads"]
    assert branchwise("fit", *given, "-o", tmp_path / "whole")[0] == 0
    given += ["--checkpoint", checkpoint]
    assert branchwise("fit", *given, "-o", tmp_path / "first", "--max_iter", 2)[0] == 0
    assert read_run(tmp_path / "first")["n_iter"] == 2
    assert checkpoint.exists()
    before = checkpoint.read_bytes()
    code, _, err = branchwise("fit", *given, "-o", tmp_path / "second")
    assert code == 1
    assert "has the iterations of an earlier fit; go on from them with --resume, replace" in err
    assert checkpoint.read_bytes() == before
    code, _, err = branchwise("fit", *given, "-o", tmp_path / "second", "--resume")
    assert code == 0, err
    assert_same_tables(tmp_path / "second", tmp_path / "whole")
    assert read_run(tmp_path / "second")["parameters"]["checkpoint"] == str(checkpoint)
    assert branchwise("fit", *given, "-o", tmp_path / "again", "--force", "--max_iter", 1)[0] == 0
    assert checkpoint.read_bytes() != before
    code, _, err = branchwise("fit", *given[:-2], "-o", tmp_path / "third", "--resume")
    assert code == 2
    assert "--resume needs the file that an earlier fit has written; add --checkpoint PATH" in err


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nonsense:1", "abc://x:1"], ids=["closed", "host", "scheme"]
)
def test_scheduler_that_does_not_answer(address, files, tmp_path, branchwise, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_TO_ANSWER", 1)
    code, out, err = branchwise(
        "fit", files / "data.zarr", "-o", tmp_path / "out", "--scheduler", address
    )
    assert (code, out) == (1, "")
    assert err.startswith(
        f"branchwise fit: no Dask scheduler answers at '{address}' within 1 seconds"
    )
    assert "start one with `dask scheduler`, or pass --scheduler local" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.fixture
def no_cluster(monkeypatch):
    """Whoever starts or looks for a cluster fails."""
    monkeypatch.setattr(cluster, "local_cluster", None)
    monkeypatch.setattr(cluster, "running_cluster", None)


@pytest.mark.parametrize("address", ["Threads", "cluster", "10.0.0.1"])
def test_scheduler_that_is_no_address(address, files, fitted, tmp_path, branchwise, no_cluster):
    given = ["-o", tmp_path / "out.csv", "--scheduler", address]
    for command in (["fit", files / "data.zarr"], ["transform", fitted, files / "data.zarr"]):
        code, out, err = branchwise(*command, *given)
        assert (code, out) == (2, "")
        assert f"--scheduler {address} must be threads, local, or the address of a Dask" in err


def test_missing_file_is_told_before_a_cluster_is_started(fitted, tmp_path, branchwise, no_cluster):
    given = [tmp_path / "none.zarr", "-o", tmp_path / "out.csv", "--scheduler", "local"]
    for command in (["fit"], ["transform", fitted]):
        code, _, err = branchwise(*command, *given)
        assert code == 1
        assert "none.zarr does not exist; check its name and folder." in err
        assert not (tmp_path / "out.csv").exists()


def test_place_of_a_checkpoint_is_checked_before_a_cluster_is_started(
    files, tmp_path, branchwise, no_cluster
):
    given = ["fit", files / "data.zarr", "-o", tmp_path / "out", "--scheduler", "local"]
    code, _, err = branchwise(*given, "--checkpoint", tmp_path / "none" / "fit.checkpoint")
    assert code == 1
    assert "branchwise fit: --checkpoint='" in err
    assert "fit.checkpoint' is in a folder that does not exist, but must be" in err
    assert not (tmp_path / "out").exists()


def test_the_root_may_be_a_sample_by_the_name_of_the_id_column(files, tmp_path, branchwise):
    given = ["--id", "patient", "--scheduler", "threads", "--root", "patient=P003", *PARAMETERS]
    code, _, err = branchwise(
        "fit", files / "patients.parquet", "-o", tmp_path / "out", *given, "--exclude", "age"
    )
    assert code == 0, err


def test_too_many_features_are_told_before_any_pass(files, tmp_path, branchwise, monkeypatch):
    monkeypatch.setattr("branchwise.cli.fit.MAX_FEATURES", 5)
    given = ["fit", files / "data.zarr", "--scheduler", "threads", *PARAMETERS]
    assert branchwise(*given, "-o", tmp_path / "reduced", "--pca", 3)[0] == 0
    monkeypatch.setattr("branchwise.cli.fit.missing_by_column", None)
    code, _, err = branchwise(*given, "-o", tmp_path / "out")
    assert code == 1
    assert "data.zarr has 6 features, but --method ddrtree takes at most 5 with --sch" in err
    assert "reduce them first, for instance with --pca 50." in err


def test_help_has_resume_beside_checkpoint(capsys):
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    parameters = capsys.readouterr().out.partition("parameters of the method")[2]
    parameters = parameters.partition("tables beyond memory")[0]
    assert "--checkpoint" in parameters
    assert "--resume" in parameters


class FakeClient:
    """A cluster of which one worker is not as it should be, or the scheduler."""

    def __init__(self, version, scheduler=cluster.__version__):
        self.version, self.scheduler = version, scheduler

    def wait_for_workers(self, n_workers, timeout):
        if self.version == "no worker":
            raise TimeoutError

    def get_versions(self, packages):
        assert packages == ["branchwise"]
        versions = {"tcp://a:1": cluster.__version__, "tcp://b:2": self.version}
        return {
            "scheduler": {"packages": {"branchwise": self.scheduler}},
            "workers": {k: {"packages": {"branchwise": v}} for k, v in versions.items()},
        }


def test_workers_must_be_there_and_have_branchwise():
    cluster.check_workers(FakeClient(cluster.__version__), "tcp://x:1")
    with pytest.raises(cluster.Failure, match="has no workers; start some: dask worker tcp://x:1"):
        cluster.check_workers(FakeClient("no worker"), "tcp://x:1")
    with pytest.raises(
        cluster.Failure,
        match=r"1 of 2 workers lack branchwise .* \(they have none\): tcp://b:2; inst",
    ):
        cluster.check_workers(FakeClient(None), "tcp://x:1")
    with pytest.raises(cluster.Failure, match=r"\(they have branchwise 0.0.1\)"):
        cluster.check_workers(FakeClient("0.0.1"), "tcp://x:1")


@pytest.mark.parametrize(
    ("version", "has"), [(None, "lacks branchwise"), ("0.0.1", "has branchwise 0.0.1")]
)
def test_scheduler_must_have_branchwise(version, has):
    with pytest.raises(
        cluster.Failure,
        match=f"scheduler at tcp://x:1 {has}, but this command is branchwise .*; install the same",
    ):
        cluster.check_workers(FakeClient(cluster.__version__, version), "tcp://x:1")


def test_scheduler_with_keys_is_asked_with_those_of_the_configuration(monkeypatch):
    asked = {}

    class Connection:
        async def close(self):
            pass

    async def connect(address, **options):
        asked.update(options, address=address)
        return Connection()

    given = {"ssl_context": "of the configuration"}
    monkeypatch.setattr("distributed.comm.connect", connect)
    monkeypatch.setattr("distributed.Security.get_connection_args", lambda self, role: given)
    asyncio.run(cluster.knock("tls://x:1"))
    assert asked == {**given, "address": "tls://x:1", "timeout": cluster.SECONDS_TO_ANSWER}


@pytest.mark.parametrize(
    "error",
    [
        FutureCancelledError(key="count", reason="scheduler-connection-lost"),
        OSError("Timed out trying to connect to tcp://127.0.0.1:1 after 30 s"),
    ],
    ids=["while it works", "when it is asked"],
)
def test_scheduler_that_is_lost_between_the_passes_of_a_fit(
    error, files, running, tmp_path, branchwise, monkeypatch
):
    def lose(table, others=()):
        raise error

    monkeypatch.setattr("branchwise.cli.fit.missing_by_column", lose)
    given = [files / "data.zarr", "-o", tmp_path / "out", "--scheduler", running]
    code, _, err = branchwise("fit", *given)
    assert code == 1
    assert "the connection to the Dask scheduler was lost; start the scheduler again" in err


@pytest.mark.parametrize("checkpoint", [True, False])
def test_scheduler_that_is_lost(checkpoint, files, running, tmp_path, branchwise, monkeypatch):
    def lose(*arguments, **options):
        raise ConnectionError("The connection to the Dask scheduler was lost (…); fit(resume=True)")

    monkeypatch.setattr("branchwise.cli.fit.fit_pipeline", lose)
    given = ["--checkpoint", tmp_path / "fit.checkpoint"] if checkpoint else []
    code, _, err = branchwise(
        "fit", files / "data.zarr", "-o", tmp_path / "out", "--scheduler", running, *given
    )
    assert code == 1
    assert (
        "the connection to the Dask scheduler was lost; start the scheduler again, and run" in err
    )
    assert ("again with --resume." in err) == checkpoint
    assert ("; with --checkpoint PATH a fit" in err) != checkpoint


def test_without_dask_the_extra_is_named(files, tmp_path, branchwise, monkeypatch):
    for name in ("dask", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
        given = ["fit", files / "data.zarr", "-o", tmp_path / "out", "--scheduler", "local"]
        code, _, err = branchwise(*given)
        assert code == 1
        assert (
            f"--scheduler needs {name}; run: pip install '.[dask]' in a clone of branchwise" in err
        )
        monkeypatch.undo()


def test_formats_that_cannot_be_read_chunk_by_chunk(table, tmp_path, branchwise):
    code, _, err = branchwise("fit", table, "-o", tmp_path / "out", "--scheduler", "threads")
    assert code == 1
    assert "cannot be read chunk by chunk; convert it to Parquet or zarr" in err
    assert "without --scheduler" in err


@pytest.mark.parametrize(
    "given",
    [
        ["--impute", "median"],
        ["--impute", "model"],
        ["--rank-normalize"],
        ["--adjust", "age"],
        ["--kernel", "rbf"],
    ],
    ids=lambda given: given[0],
)
def test_what_needs_all_rows_in_one_place(given, files, tmp_path, branchwise):
    code, _, err = branchwise(
        "fit", files / "data.zarr", "-o", tmp_path / "out", "--scheduler", "threads", *given
    )
    assert code == 2
    assert f"{given[0]} needs all rows of the table in one place, but with --scheduler" in err


def test_json_is_all_that_machines_read(files, running, tmp_path, branchwise):
    code, out, err = branchwise(
        "fit",
        files / "data.zarr",
        *["-o", tmp_path / "out", "--scheduler", running, "--json", *PARAMETERS],
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["scheduler"]["kind"] == "cluster"


def test_truncated_chunk_is_named(files, tmp_path, branchwise, simulated):
    values = simulated[[f"lab{k}" for k in range(6)]].to_numpy()
    path = tmp_path / "data.zarr"
    array = zarr.open_array(
        str(path), mode="w", shape=values.shape, chunks=(20, 6), dtype=values.dtype
    )
    array[:] = values
    chunks = sorted(
        p for p in path.rglob("*") if p.is_file() and not p.name.startswith((".z", "z"))
    )
    chunks[2].write_bytes(chunks[2].read_bytes()[:-9])
    code, _, err = branchwise("fit", path, "-o", tmp_path / "out", "--scheduler", "threads")
    assert code == 1
    assert "rows 40 to 59" in err
    assert "cannot be read" in err
    assert err.count("\n") == 1
