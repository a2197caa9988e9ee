"""Opening files safely. The configuration is the lowest room that reads files, so the functions for it are here."""
