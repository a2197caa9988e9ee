"""An earlier package, for installed kernelspecs that start `python -m jupyter_eca.kernel`."""
