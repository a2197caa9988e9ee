"""Kernels behind a kernel gateway: the notebooks run on other machines, and this server reaches them by HTTP and
WebSockets only."""
