"""The runtimes that tasks can be sent to: Dask and Ray, each as `protocol.py` asks it to be."""
