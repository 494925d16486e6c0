"""Where text comes from: small models made from scratch, transformers models, and the cache they decode with."""
