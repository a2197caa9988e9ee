"""Owns the chats in PostgreSQL, for users whose administrator sets `store.url`. Nothing here is imported before that.

`schema_database` connects and owns the locks, `connection` runs statements, `tables_in_postgres` makes the tables, and
`text` stores characters that PostgreSQL cannot store. The statements themselves are those of the room around it.
"""
