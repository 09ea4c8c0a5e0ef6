"""The runner of the bench: see bench/README.md."""
