"""An earlier package; its module `base` names what is in `jupyter_eca.plugins` now."""
