"""Tasks as data: typed, hashed, with lineage, and the pool that keeps them."""
