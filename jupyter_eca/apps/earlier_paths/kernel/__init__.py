"""Keeps the package `jupyter_eca.kernel` of version 0.1.0, for installed kernelspecs that start
`python -m jupyter_eca.kernel`.
"""
