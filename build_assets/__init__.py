"""What is built with the wheel and not kept in the repository: the CNNs as ONNX files.

`hook` lets hatchling build it for ``pip install .`` (editable or not) and for a wheel; in a
checkout that nobody installed, ``python -m build_assets`` does the same. Nothing here is imported
by visterm, nor imports it.
"""
