"""An earlier package. Its module `base` has the names that are in `jupyter_eca.plugins` now."""
