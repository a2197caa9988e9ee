"""Running kernels: the client that talks to them, what their language can tell, and the text of their outputs."""
