"""Ports to where the assistant works: files and kernels, and who answers for them."""
