"""`python -m jupyter_eca.kernel -f FILE`: the kernel `eca`, as its kernelspec starts it."""

from __future__ import annotations

from ipykernel.kernelapp import IPKernelApp

from jupyter_eca.kernel.promptkernel import EcaKernel

IPKernelApp.launch_instance(kernel_class=EcaKernel)
