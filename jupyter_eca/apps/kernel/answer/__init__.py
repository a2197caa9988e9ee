"""What a cell shows while a question is answered, and how a cell asks for approval."""
