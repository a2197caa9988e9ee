"""Owns access to running kernels: the clients that talk to them, the programs that list variables in the language of a
kernel, and the conversion of outputs to text. It must not know tools, which are in `plugins/tools/`."""
