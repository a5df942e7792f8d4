"""What the commands say of themselves."""

DESCRIPTION = """\
Learn a low-dimensional embedding together with the tree, or another graph, that the data lie on.

  ramify demo                               see it work on 569 real tumours
  ramify fit table.csv -o out --standardize from a table to embedding, tree, picture and model
  ramify transform out new.csv              place new rows on the same tree
"""
EPILOG = """\
exit codes: 0 done, 1 the fit or the data failed, 2 wrong usage. Every command has --help with an
example. Tables: CSV, TSV (also .gz), Parquet, NPY, NPZ, Matrix Market (10x folders), .h5ad, .zarr.
"""

FIT = """\
Read a table, prepare it, learn an embedding and its graph, and write all results into one folder:
embedding, centers, tree (with a root also pseudotime, branches and milestones) as tables, the
model for `ramify transform`, a picture, an interactive page (report.html), and run.json with
versions, parameters, seed, input hash, times and objective.

Numeric columns are features. All others are annotations: they are kept, can be coloured by, and can
tell where the root is.
"""
FIT_EXAMPLES = """\
examples:
  ramify fit patients.csv -o out --id patient --standardize --exclude outcome --color outcome
  ramify fit cohort.parquet -o out --rank-normalize --adjust age,sex --root stage=I --prune
  ramify fit cells.h5ad -o out --use-rep X_pca --n_components 5 --root cell_type=HSC
  ramify fit faces.npz -o out --method spl --n_neighbors 5 --C 1000
  ramify fit atlas.zarr -o out --pca 50 --scheduler tcp://10.0.0.1:8786 --checkpoint atlas.fit

The root is a milestone as the picture names it (T1, F2), a node (node=12), a sample (sample=P007),
or the tip where a label is most frequent (stage=I; with --root-at node, any node). A name with a
comma stands in quotation marks: --exclude 'age,"dose, mg"'. Parameters have their Python names and
defaults.

With --scheduler the table is read chunk by chunk by the workers of Dask, which need the same path
to it; drtree and spl are then fitted to landmarks. What needs all rows in one place (--impute,
--rank-normalize, --adjust, --kernel) is for tables in memory.
"""
TRANSFORM = """\
Place the rows of a new table on the graph of a fitted model. What the fit did to its table, from
medians to covariates, is repeated as it was; columns are found by their names.
"""
TRANSFORM_EXAMPLES = """\
examples:
  ramify transform out new.csv                    (to the screen, as CSV)
  ramify transform out/model.ramify new.parquet -o placed.csv
  ramify transform out new.zarr -o placed.parquet --scheduler local
"""
REPORT = """\
Write an interactive page of a result of `ramify fit`: one HTML file that any browser opens, without
a network or anything else. `ramify fit` writes it, too; here it is made anew, with another root,
colour or title, or with more features (these are read from the input of the fit, if it has not
changed). The page holds the values that it shows: mail it only to those who may see them.
"""
REPORT_EXAMPLES = """\
examples:
  ramify report out --root T2 --color pseudotime
  ramify report out --feature age --feature bmi -o cohort.html --title "The cohort of 2024"
"""
PLOT = """\
Draw a result of `ramify fit`: the embedding with its graph, the tree laid out flat, branches as a
graph, the adjacency matrix, how the objective converged, or features along the tree (these are
read from the input of the fit, if it has not changed).
"""
PLOT_EXAMPLES = """\
examples:
  ramify plot out --color pseudotime
  ramify plot out --kind layout --root T2 -o layout.svg
  ramify plot out --kind trends --feature age --feature bmi
"""
SCORE = """\
How well a result of `ramify fit` agrees with labels that it has not seen: accuracy of the nearest
neighbour, and with a root how branches and pseudotime agree with them.
"""
SCORE_EXAMPLES = """\
example:
  ramify score out --labels diagnosis
"""
INFO = """\
Describe a model file, a result folder, or a table before it is fitted: features, annotations,
missing values.
"""
INFO_EXAMPLES = """\
examples:
  ramify info patients.csv --id patient
  ramify info out/model.ramify
"""
DEMO = """\
Fit DDRTree to scikit-learn's breast-cancer table (569 real tumours, 30 measurements each, shipped
with scikit-learn, no download), as `ramify fit` would.
"""
DEMO_EXAMPLES = """\
example:
  ramify demo -o ramify-demo
"""
REPRODUCE = """\
Make the table and the figures of the paper anew, from data sets in a folder or fetched by
scikit-learn, and write them beside the printed ones into one folder, with every claim checked by a
number: NAME.md, pictures and tables for each experiment, report.md and checks.csv for all
experiments of the call.

What has been computed stays in OUT/cells: a run that was stopped, or asks for more, goes on from
there.
"""
REPRODUCE_EXAMPLES = """\
examples:
  ramify reproduce all --data-dir data -o reproduction   (an hour; --quick: minutes)
  ramify reproduce table1 --datasets iris,usps --methods SPL,tSNE,PCA
  ramify reproduce synthetic --quick

The folder of data (--data-dir, or the environment variable RAMIFY_DATA) holds NAME.npz files with
X, labels y and, if they were scaled, Xs; any of them can be named for table1.
"""
COMPLETION = """\
Print a script that lets the shell complete commands, options and file names.
"""
COMPLETION_EXAMPLES = """\
examples:
  ramify completion bash > ~/.local/share/bash-completion/completions/ramify
  ramify completion zsh > ~/.zfunc/_ramify   (with fpath+=~/.zfunc before compinit in ~/.zshrc)
"""
