"""The methods of ECA, one module a subject: each exports `HANDLERS`, method name to function."""
