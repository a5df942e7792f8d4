"""Names, patterns and files of names mean columns."""

import re
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.data.errors import InputError, Unknown, UnknownNameError
from branchwise.data.selection import (
    Selection,
    expand,
    literal,
    look_up,
    option_text,
    select,
    selection,
    shortest,
)

NAMES = st.lists(st.text("ab*?[]_", min_size=1, max_size=4), min_size=1, max_size=8, unique=True)


@given(known=NAMES, patterns=st.lists(st.text("ab*?[]_", min_size=1, max_size=3), max_size=3))
def test_a_pattern_means_what_the_shell_means_and_a_name_means_itself(known, patterns):
    def meant(pattern):
        if pattern in known:
            return {pattern}
        return (
            {name for name in known if fnmatchcase(name, pattern)}
            if set(pattern) & {*"*?["}
            else set()
        )

    wanted = [meant(pattern) for pattern in patterns]
    if all(wanted):
        found = select(patterns, known, "color", "a.csv")
        assert found == [name for name in known if any(name in each for each in wanted)]
    else:
        with pytest.raises(UnknownNameError, match=r"a\.csv") as caught:
            select(patterns, known, "color", "a.csv")
        assert set(caught.value.names) == {
            pattern for pattern, each in zip(patterns, wanted, strict=True) if not each
        }


def test_a_column_that_is_called_like_a_pattern_wins():
    assert select(["a*b"], ["axb", "a*b"], "exclude", "a.csv") == ["a*b"]
    assert select(["dose [mg]"], ["dose [mg]", "dose m"], "exclude", "a.csv") == ["dose [mg]"]


def test_all_names_that_are_not_there_are_told_at_once_with_those_that_are_near():
    message = (
        r"a\.csv lacks 3 of the columns that were named: id 'agee' \(did you mean 'age'\?\); "
        r"exclude '\*_mut' \(no column fits this pattern\); annotate 'x'; "
        r"it has 'age', 'sex'\."
    )
    chosen = Selection(id="agee", exclude=["*_mut", "sex"], annotate=["x"])
    with pytest.raises(UnknownNameError, match=message):
        chosen.among(["age", "sex"], "a.csv")
    with pytest.raises(UnknownNameError, match=r"a\.csv has no column that fits 'z\*'; it has 'a'"):
        select(["z*"], ["a"], "color", "a.csv")


def test_the_id_is_one_column():
    assert Selection(id="p*").among(["pid", "sid"], "a.csv").id == "pid"
    with pytest.raises(InputError, match=r"id='\*id' fits 2 columns of a\.csv \('pid', 'sid'\)"):
        Selection(id="*id").among(["pid", "sid"], "a.csv")


def test_a_file_of_names(tmp_path):
    path = tmp_path / "genes.txt"
    path.write_bytes(b"\xef\xbb\xbf# panel\r\n brca1 \r\n\r\n*_mut\r\n")
    assert expand(["age", f"@{path}"]) == ["age", "brca1", "*_mut"]
    assert expand(f"@{path}") == ["brca1", "*_mut"]
    assert expand(["@@home"]) == ["@home"]
    assert selection(None, f"@{path}", (), (), None).include == ["brca1", "*_mut"]
    with pytest.raises(InputError, match=r"id=.* names 2 columns, but one column has the names"):
        selection(f"@{path}", None, (), (), None)


def test_a_file_of_names_that_cannot_be_used(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"@none\.txt stands for the names in the file .*"):
        expand(["@none.txt"])
    path = tmp_path / "genes.txt"
    path.write_text("# nothing\n\n")
    with pytest.raises(InputError, match=r"genes\.txt names no column; write one name"):
        expand([f"@{path}"])
    path.write_bytes("Größe\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"genes\.txt is not a list of names in UTF-8 text"):
        expand([f"@{path}"])


@given(names=NAMES, others=NAMES)
def test_what_is_suggested_means_these_columns_and_no_others(names, others):
    others = [name for name in others if name not in names]
    known = [*names, *others]
    found = select(shortest(names, others), known, "exclude", "a.csv")
    assert sorted(found) == sorted(names)


def test_shared_ends_make_a_pattern():
    mutations = [f"g{k}_mut" for k in range(5)]
    assert shortest([*mutations, "stage"], ["age"]) == ["*_mut", "stage"]
    assert shortest(mutations, ["x_mut"]) == mutations
    assert shortest(["crp_1", "crp_2", "crp_3"], ["age"]) == ["crp_*"]


def test_the_pattern_of_most_names_comes_first_and_the_next_counts_what_is_left():
    names = ["a_1", "a_2", "a_3", "a_4", "b_1", "c_1", "d_2", "e_2", "f_2"]
    assert shortest(names, []) == ["a_*", "*_2", "b_1", "c_1"]


def test_names_are_written_so_that_the_shell_and_the_option_read_them_again():
    import shlex

    from branchwise.cli.arguments import names

    wanted = ["*_mut", "dose, mg", "@home", 'say "a"', "it's"]
    [argument] = shlex.split(option_text(wanted))
    assert expand(names(argument)) == wanted
    assert re.fullmatch(r"'.*'", option_text(["a b"]))


@pytest.mark.parametrize("name", ["x*", "a[1]", "what?", "@home", "@*[", "plain", "a[*]"])
def test_a_literal_name_means_itself_only(name):
    others = ["x1", "a1", "whats", "a*"]
    [found] = expand([literal(name)])
    assert look_up([found], [*others, name], "include") == ([name], [])
    assert look_up([found], others, "include") == ([], [Unknown(name, "include", False)])
