"""Tables that stay in their files: the same as those in memory, read chunk by chunk."""

import warnings
from decimal import Decimal
from pathlib import Path

import anndata
import dask
import dask.array as da
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from distributed import Client, LocalCluster
from scipy import sparse

from branchwise.data.gaps import missing_by_column
from branchwise.io import InputError, read_table
from branchwise.io.lazy import Rows, row_sizes
from branchwise.io.parquet import look_at

FORMATS = [2] if zarr.__version__.startswith("2.") else [2, 3]
N, D = 103, 7


@pytest.fixture(autouse=True)
def small_chunks():
    """Several chunks of few rows: 20 rows of 7 numbers fit into one."""
    with dask.config.set({"array.chunk-size": 20 * D * 8, "scheduler": "synchronous"}):
        yield


@pytest.fixture(scope="session")
def values():
    return np.random.default_rng(0).normal(size=(N, D))


def write_zarr_array(path, values, version, chunks=(10, 3)):
    options = {} if FORMATS == [2] else {"zarr_format": version}
    array = zarr.open_array(
        str(path), mode="w", shape=values.shape, chunks=chunks, dtype=values.dtype, **options
    )
    array[:] = values
    return path


@pytest.fixture(params=FORMATS, ids=lambda version: f"zarr{version}")
def plain_zarr(tmp_path, values, request):
    return write_zarr_array(tmp_path / "data.zarr", values, request.param)


def cells(values, order="csr"):
    """Simulated cells with everything that can be read of them."""
    counts = np.round(np.abs(values) * 2 * (values > 0.5))
    counts = sparse.csr_matrix(counts) if order == "csr" else sparse.csc_matrix(counts)
    return anndata.AnnData(
        values,
        obs=pd.DataFrame(
            {"kind": pd.Categorical(["a", "b"] * (N // 2) + ["a"]), "age": np.arange(N) / 2},
            index=[f"cell{k}" for k in range(N)],
        ),
        var=pd.DataFrame(index=[f"gene{j}" for j in range(D)]),
        layers={"counts": counts},
        obsm={"X_pca": values[:, :3].astype(np.float32), "frame": frame_of_obsm(values)},
    )


def frame_of_obsm(values):
    return pd.DataFrame(values[:, :2], columns=["u", "v"], index=[f"cell{k}" for k in range(N)])


@pytest.fixture(params=["h5ad", *[f"zarr{version}" for version in FORMATS]])
def cell_file(tmp_path, values, request):
    return write_cells(tmp_path, cells(values), request.param)


def write_cells(folder, adata, kind):
    path = folder / f"cells.{kind[:4]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of writing, which is not what is tested
        if kind == "h5ad":
            adata.write_h5ad(path)
        elif FORMATS == [2]:
            adata.write_zarr(path, chunks=(10, D))
        else:
            with anndata.settings.override(zarr_write_format=int(kind[4:])):
                adata.write_zarr(path, chunks=(10, D))
    return path


def patients(values):
    """Simulated patients: an id, numbers of several kinds, gaps, and what is not a number."""
    frame = pd.DataFrame(values, columns=[f"lab{j}" for j in range(D)])
    frame.insert(0, "patient", [f"P{k:03}" for k in range(N)])
    frame["small"] = frame["lab0"].astype(np.float32)
    frame["age"] = np.arange(N) + 20
    frame["gaps"] = pd.array([None if k % 9 == 0 else k for k in range(N)], dtype="Int64")
    frame["price"] = [Decimal(k) / 4 for k in range(N)]
    frame["sex"] = pd.Categorical(["f", "m"] * (N // 2) + ["f"])
    frame["smoker"] = np.arange(N) % 3 == 0
    frame["code"] = [str(k % 4) for k in range(N)]
    return frame


@pytest.fixture
def parquet_file(tmp_path, values):
    path = tmp_path / "patients.parquet"
    patients(values).to_parquet(path, row_group_size=8, index=False)
    return path


@pytest.fixture
def parquet_folder(tmp_path, values):
    """Twelve files, whose names do not sort by their text; one is without rows."""
    folder, frame = tmp_path / "patients", patients(values)
    folder.mkdir()
    for k, start in enumerate(range(0, N, 10)):
        part = frame.iloc[start : start + 10]
        part.to_parquet(folder / f"part.{k}.parquet", row_group_size=4, index=False)
    frame.iloc[:0].to_parquet(folder / "part.11.parquet", index=False)
    (folder / "_SUCCESS").touch()
    return folder


def computed(X):
    """All chunks of a Dask array, put together by other means than Dask's."""
    blocks = [X.blocks[k].compute() for k in range(X.numblocks[0])]
    return sparse.vstack(blocks) if sparse.issparse(blocks[0]) else np.vstack(blocks)


def assert_same(path, n_chunks=2, left_out=(), **options):
    """Both ways of reading agree, but for annotations left out; return the lazy table."""
    whole, lazy = read_table(path, **options), read_table(path, lazy=True, **options)
    assert isinstance(lazy.X, da.Array)
    assert lazy.X.shape == whole.X.shape
    assert lazy.X.dtype == np.float64
    assert len(lazy.X.chunks[0]) >= n_chunks
    assert sum(lazy.X.chunks[0]) == len(whole.samples)
    found = computed(lazy.X)
    assert sparse.issparse(found) == sparse.issparse(whole.X)
    if sparse.issparse(found):
        found, expected = found.toarray(), whole.X.toarray()
    else:
        expected = whole.X
    np.testing.assert_array_equal(found, expected)
    assert (lazy.features, lazy.samples) == (whole.features, whole.samples)
    pd.testing.assert_frame_equal(lazy.annotations, whole.annotations.drop(columns=list(left_out)))
    assert lazy.source == whole.source
    return lazy


def test_plain_zarr_array(plain_zarr, values):
    table = read_table(plain_zarr)
    np.testing.assert_array_equal(table.X, values)
    assert table.features == [str(j) for j in range(D)]
    assert table.samples[:2] == ["0", "1"]
    assert assert_same(plain_zarr).X.chunks == ((20,) * 5 + (3,), (D,))


def test_zarr_array_as_dask_writes_it(tmp_path, values):
    da.from_array(values, chunks=(25, 4)).to_zarr(str(tmp_path / "data.zarr"))
    np.testing.assert_array_equal(computed(assert_same(tmp_path / "data.zarr").X), values)


def test_zarr_array_of_whole_numbers_without_an_ending(tmp_path):
    path = write_zarr_array(tmp_path / "counts", np.arange(120, dtype=np.uint16).reshape(60, 2), 2)
    with dask.config.set({"array.chunk-size": 200}):
        assert_same(path)


@pytest.mark.parametrize("lazy", [False, True])
def test_zarr_array_that_is_no_table(tmp_path, lazy):
    write_zarr_array(tmp_path / "cube.zarr", np.zeros((2, 2, 2)), 2, chunks=(2, 2, 2))
    with pytest.raises(InputError, match=r"cube.zarr holds an array of shape \(2, 2, 2\), but a"):
        read_table(tmp_path / "cube.zarr", lazy=lazy)
    write_zarr_array(tmp_path / "complex.zarr", np.zeros((2, 2), dtype=complex), 2, chunks=(2, 2))
    with pytest.raises(InputError, match="complex128, which are not real numbers; convert them"):
        read_table(tmp_path / "complex.zarr", lazy=lazy)


@pytest.mark.parametrize("lazy", [False, True])
def test_zarr_array_is_looked_through_first(plain_zarr, lazy):
    (plain_zarr / "link").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match=r"link in .*data.zarr is a symbolic link"):
        read_table(plain_zarr, lazy=lazy)
    (plain_zarr / "link").unlink()
    described = next(plain_zarr / n for n in (".zarray", "zarr.json") if (plain_zarr / n).exists())
    text = described.read_text()
    described.write_text(text.replace("103", "103000000000"))
    with pytest.raises(InputError, match=r"data.zarr declares a shape of \(103000000000, 7\)"):
        read_table(plain_zarr, lazy=lazy)
    described.write_text(text.replace('"shape"', '"form"'))
    with pytest.raises(InputError, match=r"data.zarr cannot be read as a zarr array"):
        read_table(plain_zarr, lazy=lazy)
    described.write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        read_table(plain_zarr, lazy=lazy)


def test_plain_zarr_has_no_layers(plain_zarr):
    with pytest.raises(InputError, match="layer='counts' is for AnnData files"):
        read_table(plain_zarr, layer="counts", lazy=True)


@pytest.mark.parametrize("options", [{}, {"layer": "counts"}, {"use_rep": "X_pca"}], ids=str)
def test_anndata(cell_file, options):
    with dask.config.set({"array.chunk-size": 400}):
        # AnnData stores a representation of so few numbers in one chunk.
        table = assert_same(cell_file, n_chunks=1 if "use_rep" in options else 2, **options)
    assert list(table.annotations.columns) == ["kind", "age"]


def test_anndata_with_an_id_and_excluded_genes(cell_file):
    table = assert_same(cell_file, id="age", exclude=["gene2", "kind"])
    assert "gene2" not in table.features
    assert "gene2" in table.annotations


def test_excluded_genes_of_a_sparse_matrix(cell_file):
    with dask.config.set({"array.chunk-size": 400}):
        assert_same(cell_file, layer="counts", exclude=["gene2"], features=["gene5", "gene1"])


def test_anndata_that_cannot_be_read_lazily(tmp_path, values):
    path = write_cells(tmp_path, cells(values, order="csc"), "h5ad")
    with pytest.raises(InputError, match=r"layers/counts in .* is a csc_matrix.*with .tocsr\(\)"):
        read_table(path, layer="counts", lazy=True)
    with pytest.raises(InputError, match=r"obsm/frame in .* is a dataframe.*; store an array"):
        read_table(path, use_rep="frame", lazy=True)
    with pytest.raises(InputError, match="both say what to read"):
        read_table(path, use_rep="X_pca", layer="counts", lazy=True)
    with pytest.raises(InputError, match="no representation 'X_umap'"):
        read_table(path, use_rep="X_umap", lazy=True)


def test_broken_indices_of_a_sparse_matrix(tmp_path, values):
    path = write_cells(tmp_path, cells(values), f"zarr{FORMATS[0]}")
    indices = zarr.open_group(str(path), mode="r+")["layers/counts/indices"]
    indices[0] = 99
    table = read_table(path, layer="counts", lazy=True)
    with pytest.raises(InputError, match=r"rows 0 to .* holds a broken sparse matrix"):
        table.X.compute()


def test_parquet_file(parquet_file):
    table = assert_same(parquet_file)
    assert table.samples[0] == "P000"
    assert table.features[-3:] == ["age", "gaps", "price"]
    assert list(table.annotations.columns) == ["sex", "smoker", "code"]
    assert set(table.X.chunks[0]) <= {8, 16, 7}
    assert missing_by_column(table) == {"gaps": 12}


def test_parquet_folder(parquet_folder, values):
    table = assert_same(parquet_folder)
    np.testing.assert_array_equal(computed(table.X)[:, :D], values)


@pytest.mark.parametrize(
    "options",
    [
        {"exclude": ["age", "lab1"]},
        {"id": "code", "exclude": ["patient"]},
        {"features": ["lab3", "age"]},
        {"features": ["lab3", "age"], "exclude": ["gaps"]},
        {"features": ["lab3", "age"], "exclude": ["gaps"], "id": "age"},
    ],
    ids=str,
)
def test_parquet_with_chosen_columns(parquet_file, options):
    """Other numbers, which may be many, are left out of a lazy table unless they are excluded."""
    if options.get("id") == "code":
        with pytest.raises(InputError, match="names of samples in column 'code'"):
            read_table(parquet_file, lazy=True, **options)
    elif options.get("id") == "age":
        with pytest.raises(InputError, match="lacks 1 of 2 features"):
            read_table(parquet_file, lazy=True, **options)
    else:
        with dask.config.set({"array.chunk-size": 200}):
            numbers = [*(f"lab{k}" for k in range(D)), "small", "age", "gaps", "price"]
            named = {*options.get("features", numbers), *options.get("exclude", ())}
            others = [name for name in numbers if name not in named]
            assert_same(parquet_file, left_out=others, **options)


def test_first_column_is_no_name_because_others_before_it_were_left_out(tmp_path, values):
    frame = pd.DataFrame(values, columns=list("abcdefg"))
    frame.insert(1, "patient", [f"P{k}" for k in range(N)])
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=10, index=False)
    table = assert_same(
        tmp_path / "a.parquet", features=["b", "c", "d", "e", "f", "g"], left_out=["a"]
    )
    assert list(table.annotations) == ["patient"]


def test_files_of_a_parquet_folder_are_not_kept_open(parquet_folder):
    """A process may have 1,024 of them open, a folder any number."""
    described = look_at(parquet_folder)
    assert [file.num_rows for file in described.metadata] == [10] * 10 + [3, 0]
    opened = [Path(file.path) for file in psutil.Process().open_files()]
    assert not [path for path in opened if path.is_relative_to(parquet_folder.resolve())]


@pytest.mark.parametrize("lazy", [False, True])
def test_tables_without_rows(tmp_path, values, lazy):
    none = values[:0]
    np.save(tmp_path / "a.npy", none)
    pd.DataFrame(none, columns=list("abcdefg")).to_parquet(tmp_path / "a.parquet")
    write_zarr_array(tmp_path / "a.zarr", none, FORMATS[-1])
    anndata.AnnData(none).write_h5ad(tmp_path / "a.h5ad")
    anndata.AnnData(sparse.csr_matrix(none)).write_h5ad(tmp_path / "sparse.h5ad")
    for name in ("a.npy", "a.parquet", "a.zarr", "a.h5ad", "sparse.h5ad"):
        with pytest.raises(InputError, match=f"{name} has no samples; it needs at least one row"):
            read_table(tmp_path / name, lazy=lazy)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([f"s{k}" for k in range(N)]),
        pd.Index(np.arange(N)[::-1].copy()),
        pd.Index(np.arange(N)[::-1].copy(), name="sample"),
        pd.Index(np.arange(N) / 2, name="hours"),
        pd.RangeIndex(N),
    ],
    ids=["words", "numbers", "named", "feature", "range"],
)
def test_parquet_with_an_index(tmp_path, values, index):
    frame = pd.DataFrame(values, columns=list("abcdefg"), index=index)
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=10)
    assert_same(tmp_path / "a.parquet")


def test_parquet_as_dask_writes_it(tmp_path, values):
    """Its own index counts rows, and is not a feature."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for k, rows in enumerate(np.array_split(values, 3)):
        frame = pd.DataFrame(rows, columns=list("abcdefg"))
        frame.index = pd.Index(np.arange(len(rows)) + 40 * k, name="__null_dask_index__")
        frame.to_parquet(folder / f"part.{k}.parquet")
    assert assert_same(folder).features == list("abcdefg")


@pytest.mark.filterwarnings("ignore:.*names some rows twice")
def test_repeated_first_column_of_parquet_is_an_annotation(tmp_path, values):
    frame = pd.DataFrame(values, columns=list("abcdefg"))
    frame.insert(0, "patient_id", np.arange(N) // 2)
    frame.to_parquet(tmp_path / "visits.parquet", row_group_size=10, index=False)
    assert "patient_id" in assert_same(tmp_path / "visits.parquet").annotations


def test_parquet_files_of_a_folder_may_differ_in_types(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1, 2], "b": [0.5, 1.5]}), folder / "1.parquet")
    pq.write_table(pa.table({"b": [2.5, 1.5], "a": pa.nulls(2)}), folder / "2.parquet")
    with dask.config.set({"array.chunk-size": 16}):
        table = assert_same(folder)
    np.testing.assert_array_equal(computed(table.X)[:, 0], [1, 2, np.nan, np.nan])


@pytest.mark.parametrize("lazy", [False, True])
def test_parquet_files_of_a_folder_must_be_one_table(tmp_path, lazy):
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1, 2], "b": [0.5, 1.5]}), folder / "1.parquet")
    pq.write_table(pa.table({"a": [1], "c": [2.5]}), folder / "2.parquet")
    with pytest.raises(InputError, match=r"2.parquet in .* has other columns than 1.parquet \('b'"):
        read_table(folder, lazy=lazy)
    pq.write_table(pa.table({"a": ["x"], "b": [2.5]}), folder / "2.parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_table(folder, lazy=lazy)


def test_column_of_parquet_without_a_type_is_an_annotation(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": pa.nulls(2)}), tmp_path / "a.parquet")
    assert list(assert_same(tmp_path / "a.parquet", n_chunks=1).annotations) == ["b"]


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(tmp_path, values, order):
    np.save(tmp_path / "a.npy", np.asarray(values, dtype=np.float32, order=order))
    assert_same(tmp_path / "a.npy", exclude=["3"])
    np.save(tmp_path / "flat.npy", values[0])
    with pytest.raises(InputError, match=r"shape \(7,\), but a table has two dimensions"):
        read_table(tmp_path / "flat.npy", lazy=True)
    np.save(tmp_path / "objects.npy", np.array([[None]]))
    with pytest.raises(InputError, match=r"objects.npy cannot be read as a NumPy file"):
        read_table(tmp_path / "objects.npy", lazy=True)


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.mtx"])
def test_other_formats_are_not_read_lazily(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(
        InputError, match=f"{name} is of a format that cannot be read chunk by chunk; convert it to"
    ):
        read_table(tmp_path / name, lazy=True)


def test_nothing_is_read_when_a_table_is_opened(
    plain_zarr, parquet_folder, tmp_path, values, monkeypatch
):
    np.save(tmp_path / "a.npy", values)
    cells_path = write_cells(tmp_path, cells(values), "h5ad")
    read = []
    monkeypatch.setattr(Rows, "__call__", lambda self, block: read.append(block[0, 0][0]))
    paths = [plain_zarr, parquet_folder, tmp_path / "a.npy", cells_path]
    tables = [read_table(path, lazy=True) for path in paths]
    assert read == []
    for table in tables:
        table.X.blocks[1].compute()
    assert len(read) == len(tables)
    assert min(read) > 0


def test_chunks_are_whole_stored_chunks_of_a_bounded_size():
    with dask.config.set({"array.chunk-size": "128MiB"}):
        sizes = row_sizes(10_000_000, 400, 50_000)
        assert sum(sizes) == 10_000_000
        assert all(size % 50_000 == 0 for size in sizes)
        assert 64 * 2**20 < 400 * sizes[0] <= 128 * 2**20
        assert row_sizes(100, 2**30, 7) == [7] * 14 + [2]
        assert row_sizes(5, 8, 1000) == [5]


def test_missing_values_are_counted_chunk_by_chunk(tmp_path, values):
    holes = values.copy()
    holes[[3, 50, 80], [1, 1, 4]] = np.nan
    np.save(tmp_path / "a.npy", holes)
    with dask.config.set(scheduler="threads"):
        assert missing_by_column(read_table(tmp_path / "a.npy", lazy=True)) == {"1": 2, "4": 1}


def test_missing_values_of_a_sparse_matrix(tmp_path, values):
    adata = cells(values)
    adata.layers["counts"].data[[0, 5]] = np.nan
    path = write_cells(tmp_path, adata, "h5ad")
    whole = read_table(path, layer="counts")
    assert sum(missing_by_column(whole).values()) == 2
    lazy = read_table(path, layer="counts", lazy=True)
    assert missing_by_column(lazy) == missing_by_column(whole)


def chunk_files(path):
    """The files of a zarr array that hold values, in order."""
    files = [file for file in Path(path).rglob("*") if file.is_file()]
    return sorted(file for file in files if not file.name.startswith((".z", "zarr")))


@pytest.mark.skipif(FORMATS == [2], reason="zarr 2 reads on beyond the end of a chunk, silently")
def test_truncated_chunk_is_an_error_when_it_is_computed(plain_zarr):
    table = read_table(plain_zarr, lazy=True)
    for file in chunk_files(plain_zarr):
        file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"rows 20 to 39 of .*data.zarr cannot be read \("):
        table.X.blocks[1].compute()
    with pytest.raises(InputError, match=r"data.zarr cannot be read as a zarr array"):
        read_table(plain_zarr)


def test_file_that_is_gone_or_has_changed(tmp_path, values):
    np.save(tmp_path / "a.npy", values)
    table = read_table(tmp_path / "a.npy", lazy=True)
    np.save(tmp_path / "a.npy", values[:50])
    with pytest.raises(InputError, match=r"rows 40 to 59 .* the file has changed since it was"):
        table.X.blocks[2].compute()
    assert read_table(tmp_path / "a.npy", lazy=True).X.name != table.X.name
    (tmp_path / "a.npy").unlink()
    with pytest.raises(InputError, match="every worker needs the file at the same path"):
        table.X.blocks[0].compute()


def test_processes_of_a_cluster_read_by_themselves(
    tmp_path, values, plain_zarr, parquet_folder, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", values)
    write_cells(tmp_path, cells(values), "h5ad")
    paths = [plain_zarr, parquet_folder, "a.npy", "cells.h5ad"]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
        dask.config.set(scheduler="distributed"),
    ):
        for path in paths:
            lazy = read_table(path, lazy=True)
            np.testing.assert_array_equal(lazy.X.compute(), read_table(path).X)
        counts = read_table("cells.h5ad", layer="counts", lazy=True)
        expected = read_table("cells.h5ad", layer="counts").X
        total = counts.X.map_blocks(lambda block: block.toarray(), meta=np.empty((0, 0))).sum()
        assert total.compute() == expected.sum()


@pytest.mark.parametrize(("n_rows", "stored"), [(7, None), (300_000, 25_000), (10**7, 1_000)])
def test_tables_of_many_rows_have_chunks_for_several_workers(n_rows, stored):
    sizes = row_sizes(n_rows, 400, stored)
    assert sum(sizes) == n_rows
    assert all(size % (stored or 1) == 0 for size in sizes[:-1])
    assert len(sizes) >= min(12, -(-n_rows // 25_000))
