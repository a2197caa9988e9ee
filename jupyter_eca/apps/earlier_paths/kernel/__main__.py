"""`python -m jupyter_eca.kernel -f FILE`: an installed kernelspec of 0.1.0 starts the kernel `eca` by this path.

It gives no warning: who opens a notebook did not write the kernelspec, and installing the package anew replaces it.
"""

from __future__ import annotations

from ipykernel.kernelapp import IPKernelApp

from jupyter_eca.apps.kernel.prompt_kernel import EcaKernel

IPKernelApp.launch_instance(kernel_class=EcaKernel)
