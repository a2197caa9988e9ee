"""Owns the files of a gateway for models: LiteLLM Proxy as a service of a JupyterHub.

They run in other environments than ours: in that of LiteLLM, and in that of the Hub. So they import nothing of this
package, and `write_gateway` copies them to a folder of the administrator. The page for administrators explains them.
"""
