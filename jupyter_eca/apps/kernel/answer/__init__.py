"""What a cell shows while a question is answered, and how it asks for approval. `turn` follows one turn and uses the
rest.
"""
