"""Data before any mathematics: tables, checks, centred rows, Dask arrays, landmarks, kernels."""
