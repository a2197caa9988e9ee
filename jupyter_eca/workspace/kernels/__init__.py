"""Running kernels: the clients that talk to them, the programs that list variables in the kernel's own language, and
the text of outputs."""
