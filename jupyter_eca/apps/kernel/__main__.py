"""Starts the kernel `eca`, a Python kernel whose cells can be prompts. Its kernelspec calls `python -m
jupyter_eca.apps.kernel -f FILE`."""

from __future__ import annotations

from ipykernel.kernelapp import IPKernelApp

from jupyter_eca.apps.kernel.prompt_kernel import EcaKernel

IPKernelApp.launch_instance(kernel_class=EcaKernel)
