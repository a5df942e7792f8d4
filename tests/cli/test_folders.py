"""Where results may go, and what is never lost on the way."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import branchwise as package
from branchwise.cli.console import Console
from branchwise.cli.results import new_folder

from .conftest import read_run


def test_force_deletes_nothing_that_a_fit_did_not_write(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ("fit", table, "-o", out, "--id", "patient", "--figure", "none")
    assert branchwise(*given)[0] == 0
    assert branchwise("plot", out)[0] == 0
    (out / "notes.txt").write_text("mine")
    code, _, err = branchwise(*given, "--force")
    assert code == 1
    assert "holds notes.txt, which branchwise fit did not write and --force would delete" in err
    assert (out / "notes.txt").read_text() == "mine"
    (out / "notes.txt").unlink()
    assert branchwise(*given, "--force")[0] == 0


def test_force_spares_pictures_that_no_command_drew(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ("fit", table, "-o", out, "--id", "patient", "--no-report", "--no-support")
    assert branchwise(*given)[0] == 0
    assert branchwise("plot", out, "--kind", "layout")[0] == 0
    assert {path.name for path in out.glob("*.png")} == {"figure.png", "layout.png"}
    mine = [out / name for name in ("notes.png", "thesis.pdf", "figure.pdf")]
    for path in mine:
        path.write_text("x")
    code, _, err = branchwise(*given, "--force")
    assert code == 1
    assert "holds figure.pdf, notes.png, thesis.pdf, which branchwise fit did not write" in err
    assert [path.read_text() for path in mine] == ["x"] * 3
    for path in mine:
        path.unlink()
    assert branchwise(*given, "--force")[0] == 0


def test_the_folder_that_one_is_in_is_not_replaced(table, tmp_path, branchwise, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = branchwise("fit", table, "-o", ".")
    assert code == 1
    assert ". is where you are, and is to be made again; choose another -o." in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["file/out", "n" * 250], ids=["in a file", "long name"])
def test_a_folder_that_cannot_be_made_is_told_before_anything_is_read(name, tmp_path, branchwise):
    (tmp_path / "file").write_text("")
    code, _, err = branchwise("fit", "nothing.csv", "-o", tmp_path / name)
    assert code == 1
    assert "cannot be made (" in err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_stays_and_what_it_points_to_is_replaced(table, tmp_path, branchwise):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "link"
    link.symlink_to("disk")
    given = ("fit", table, "-o", link, "--id", "patient", "--figure", "none")
    assert branchwise(*given)[0] == 0
    assert branchwise(*given, "--force", "--n_components", "3")[0] == 0
    assert link.is_symlink()
    assert read_run(tmp_path / "disk")["n_components"] == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "link"]


def test_infinite_parameters_are_recorded_and_can_be_given_again(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ("--id", "patient", "--method", "spl", "--C", "inf", "--figure", "none")
    code, text, _ = branchwise("fit", table, "-o", out, *given, "--json")
    assert code == 0
    assert json.loads(text)["parameters"]["C"] == "inf"
    assert read_run(out) == json.loads(text)
    model = package.load(out / "model.branchwise").estimator
    assert model.get_params()["C"] == float("inf")


def test_wrong_usage_is_json_too(branchwise):
    for arguments in (["fit", "--json"], ["plot", "out", "--kind", "pie", "--json"]):
        code, out, err = branchwise(*arguments)
        assert code == 2
        found = json.loads(out)
        assert found["exit_code"] == 2
        assert err == f"branchwise {arguments[0]}: {found['error']}\n"
        assert found["error"].endswith(f"see branchwise {arguments[0]} --help.")


def test_rings_have_a_root_of_their_own(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ("--structure", "ring", "--n_centers", "12", "--root", "auto", "--figure", "none")
    assert branchwise("fit", table, "-o", out, "--id", "patient", *given)[0] == 0
    assert (out / "samples.csv").exists()


def test_parts_of_a_forest_without_the_root_are_told(simulated, tmp_path, branchwise):
    far = simulated.assign(patient=[f"Q{k}" for k in range(150)], stage="other")
    far[[f"lab{k}" for k in range(6)]] += 40  # not one alone: that is another warning
    path, out = tmp_path / "t.csv", tmp_path / "out"
    pd.concat([simulated, far]).to_csv(path, index=False)
    given = ("fit", path, "-o", out, "--id", "patient", "--exclude", "age", "--figure", "none")
    code, _, err = branchwise(*given, "--structure", "forest", "--root", "stage=early")
    assert code == 0
    assert "warning: 1 of 2 parts of the graph are without the given root" in err
    milestones = pd.read_csv(out / "milestones.csv", index_col=0)
    start = err.split()[-1].rstrip(".")
    assert milestones.loc[start, "is_root"]
    assert read_run(out)["warnings"]
    code, _, err = branchwise(*given, "--structure", "forest", "--root", "auto", "--force")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--end", "T2", "--method", "ddrtree"], "--end needs a --root to start from"),
        (["--kernel", "precomputed", "--standardize"], "--standardize is for features, not for"),
    ],
    ids=["end", "kernel"],
)
def test_options_that_do_nothing_together_are_wrong_usage(given, says, table, tmp_path, branchwise):
    code, _, err = branchwise("fit", table, "-o", tmp_path / "out", *given)
    assert code == 2
    assert says in err


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="terminals do not hang up there")
@pytest.mark.parametrize("is_ignored", [False, True], ids=["closed", "nohup"])
def test_a_closed_terminal_ends_a_command_unless_told_otherwise(is_ignored):
    code = (
        "import os, signal, sys\n"
        f"signal.signal(signal.SIGHUP, signal.{'SIG_IGN' if is_ignored else 'SIG_DFL'})\n"
        "import branchwise.cli.completion as command\n"
        "command.run = lambda options, console: os.kill(os.getpid(), signal.SIGHUP)\n"
        "from branchwise.cli import main\n"
        "sys.exit(main(['completion', 'bash']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == (0 if is_ignored else 128 + signal.SIGHUP)
    assert done.stderr == (
        "" if is_ignored else "branchwise completion: interrupted; nothing was written.\n"
    )


def test_an_interrupt_that_a_library_turns_into_an_error_is_still_one(branchwise, monkeypatch):
    """Ctrl-C while pandas is imported, for instance, arrives as an AttributeError."""
    import branchwise.cli.completion as command

    def imports(options, console):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise AttributeError("partially initialized module") from error

    monkeypatch.setattr(command, "run", imports)
    code, _, err = branchwise("completion", "bash")
    assert (code, err) == (130, "branchwise completion: interrupted; nothing was written.\n")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
@pytest.mark.parametrize("given", [[], ["--json"]], ids=["text", "json"])
def test_output_that_cannot_be_written_is_one_line(given, fitted):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "branchwise", "info", str(fitted), *given],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "branchwise info: there is no space left on the disk; free some, or write to another one.\n"
    )


def test_a_result_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text("old")
    rename = Path.rename

    def refuse(self, target):
        if self.suffix == ".part":
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="no"), new_folder(out, force=True) as folder:
        (folder / "run.json").write_text("new")
    assert (out / "run.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_interrupt_that_was_swallowed_is_heeded_after_the_iteration():
    console = Console("fit")
    with console.progress("DDRTree", 10) as callback:
        callback(None)
        console.stops.append(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            callback(None)


@pytest.mark.parametrize("way", ["itself", "relative", "symbolic", "hard"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_places_never_replace_the_table_that_they_are_of(
    way, force, fitted, simulated, tmp_path, monkeypatch, branchwise
):
    new, out = tmp_path / "new.csv", tmp_path / "link.csv"
    simulated[:5].to_csv(new, index=False)
    before = new.read_text()
    if way == "itself":
        out = new
    elif way == "relative":
        monkeypatch.chdir(tmp_path)
        out = Path("../", tmp_path.name, "new.csv")
    elif way == "symbolic":
        out.symlink_to(new)
    else:
        out.hardlink_to(new)
    code, _, err = branchwise("transform", fitted, new, "-o", out, *force)
    assert code == 1
    assert f"-o {out} is the input {new}, which is never replaced; choose another -o." in err
    assert "--force" not in err
    assert new.read_text() == before


def test_places_are_not_written_into_a_store_that_is_the_input(fitted, tmp_path, branchwise):
    (tmp_path / "new.zarr").mkdir()
    out = tmp_path / "new.zarr" / "places.csv"
    code, _, err = branchwise("transform", fitted, tmp_path / "new.zarr", "-o", out)
    assert code == 1
    assert f"-o {out} lies within the input" in err


@pytest.mark.parametrize("model", ["out", "out/model.branchwise"])
def test_places_never_replace_a_file_of_a_result(model, table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ("--id", "patient", "--figure", "none", "--no-report", "--no-support")
    assert branchwise("fit", table, "-o", out, *given)[0] == 0
    before = (out / "samples.csv").read_text()
    told = branchwise("transform", tmp_path / model, table, "-o", out / "samples.csv", "--force")
    assert told[0] == 1
    assert f"is a file of the result {out.resolve()}, which would be damaged; choose" in told[2]
    assert (out / "samples.csv").read_text() == before
    mine = out / "new.csv"
    assert branchwise("transform", tmp_path / model, table, "-o", mine)[0] == 0
    assert branchwise("transform", tmp_path / model, table, "-o", mine, "--force")[0] == 0


def test_a_fit_never_replaces_its_input(table, tmp_path, branchwise):
    out = tmp_path / "out"
    given = ("--figure", "none", "--no-report", "--no-support")
    assert branchwise("fit", table, "-o", out, "--id", "patient", *given)[0] == 0
    inside = out / "samples.csv"
    before = inside.read_text()
    code, _, err = branchwise("fit", inside, "-o", out, *given, "--force")
    assert code == 1
    assert f"the input {inside} lies within -o {out}, which would be replaced; choose" in err
    more = ("--method", "ddrtree", "--checkpoint", inside, "--force")
    code, _, err = branchwise("fit", inside, "-o", tmp_path / "b", *given, *more)
    assert code == 1
    assert f"--checkpoint {inside} is the input {inside}, which is never replaced" in err
    assert inside.read_text() == before
