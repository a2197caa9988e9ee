"""Owns the files of a model gateway: LiteLLM Proxy as a service of a JupyterHub. It sends the requests of all users to
the vendors of models with the keys of the institution.

They run in other environments than ours: in that of LiteLLM, and in that of the Hub. So they import nothing of this
package, and `write_gateway` copies them to a folder of the administrator. The page for administrators explains them.
"""
