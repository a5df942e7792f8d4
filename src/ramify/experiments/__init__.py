"""The paper's table and figures, one module each; `ramify reproduce` runs them."""
