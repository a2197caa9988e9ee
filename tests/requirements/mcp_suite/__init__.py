"""The official conformance suite of the Model Context Protocol, an npm package that is no part of the environment."""
