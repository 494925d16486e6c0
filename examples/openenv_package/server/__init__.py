"""Server of the package."""
