"""Starts the kernel `eca` for an installed kernelspec of 0.1.0, which calls `python -m jupyter_eca.kernel -f FILE`.

There is no warning, because the user who opens a notebook did not write the kernelspec. Installing the package again
replaces it.
"""

from __future__ import annotations

from ipykernel.kernelapp import IPKernelApp

from jupyter_eca.apps.kernel.prompt_kernel import EcaKernel

IPKernelApp.launch_instance(kernel_class=EcaKernel)
