"""The paper's table and figures, one module each; `branchwise reproduce` runs them."""
