"""First on the path of Ray's processes in tests: JSON schemas do without one of their formats.

The package of this name, which comes with JupyterLab, makes a parser as it is imported: that is most of the time in
which Ray is imported, in each of its processes.
"""

raise ImportError("left out")
