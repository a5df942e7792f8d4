"""How calls are read: several names after one option, and what is told of wrong ones."""

import pytest

from branchwise.cli.arguments import build_parser
from branchwise.cli.console import Usage


def read(*arguments):
    return build_parser().parse_args(arguments)


@pytest.mark.parametrize("option", ["include", "exclude", "adjust", "categorical", "date"])
def test_several_names_may_follow_one_option(option):
    dest = {"date": "dates"}.get(option, option)
    for given in (["hb", "crp"], ["hb,crp"], ["hb, crp"], ["hb", f"--{option}", "crp"]):
        found = read("fit", "a.csv", f"--{option}", *given, "-o", "out", "--log1p")
        assert (getattr(found, dest), found.input) == (["hb", "crp"], "a.csv")
    assert getattr(read("fit", "a.csv", "-o", "out"), dest) == []
    quoted = read("fit", "a.csv", "-o", "out", f"--{option}", 'hb,"dose, mg"')
    assert getattr(quoted, dest) == ["hb", "dose, mg"]


@pytest.mark.parametrize(
    "given",
    [
        ["--exclude", "hb", "a.csv", "-o", "out"],
        ["-o", "out", "--color", "sex", "--exclude", "hb", "a.csv"],
        ["--exclude=hb", "a.csv", "-o", "out"],
        ["-o", "out", "--log1p", "a.csv", "--exclude", "hb"],
    ],
    ids=" ".join,
)
def test_the_table_is_no_name_of_a_column(given):
    found = read("fit", *given)
    assert (found.input, found.exclude) == ("a.csv", ["hb"])


def test_a_file_that_is_there_is_rather_the_table_than_a_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    found = read("fit", "-o", "out", "--exclude", "hb", str(path), "--color", "sex", "stage")
    assert (found.input, found.exclude, found.color) == (str(path), ["hb"], ["sex", "stage"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            ["--standardice"],
            r"no option --standardice \(did you mean --standardi[sz]e\?\)",
        ),
        (["--exlude=hb"], r"^there is no option --exlude \(did you mean --exclude\?\); see bra"),
        (["--qqq"], "^there is no option --qqq; see branchwise fit --help"),
        (["b.csv"], "^nothing is expected where 'b.csv' stands; see branchwise fit"),
        (["--pcaa", "--lgo1p"], "did you mean --pca.*did you mean --log1p"),
    ],
    ids=str,
)
def test_unknown_options_are_told_with_those_that_are_near(given, says):
    with pytest.raises(Usage, match=says):
        read("fit", "a.csv", "-o", "out", *given)


def test_british_spelling_is_understood():
    found = read("fit", "a.csv", "-o", "out", "--standardise", "--rank-normalise")
    assert (found.standardize, found.rank_normalize) == (True, True)
    assert not read("fit", "a.csv", "-o", "out").standardize
