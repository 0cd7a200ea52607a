"""How fast the product is, beside something well known, in the same run.

``python -m tests.benchmarks NAME`` measures the module called NAME in this package. A module
that defines ``cases(quick)`` is a benchmark; nothing lists them. The same command runs figures and
tables of the papers again, ``fig5`` to ``fig8`` and ``noisy-counts`` (see `reproductions`).
"""
