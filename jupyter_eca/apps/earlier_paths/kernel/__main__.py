"""Starts the kernel `eca` for a kernelspec that version 0.1.0 of this package has installed. The kernelspec calls this
module by its earlier path: `python -m jupyter_eca.kernel -f FILE`.

Unlike other earlier paths, this one gives no warning, because the user who opens a notebook did not write the
kernelspec. Installing the package again replaces it.
"""

from __future__ import annotations

from ipykernel.kernelapp import IPKernelApp

from jupyter_eca.apps.kernel.prompt_kernel import EcaKernel

IPKernelApp.launch_instance(kernel_class=EcaKernel)
