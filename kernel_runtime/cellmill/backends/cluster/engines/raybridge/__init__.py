"""The process between the kernel and Ray.

Ray ends the process of a driver that has lost its head node, installs signal handlers, changes the environment and
knows one cluster a process. None of that is for a kernel, so the driver is a small process of its own: it starts or
joins the cluster, keeps the actors that are the remote workers, and ends what is ours when the kernel lets go of it or
dies.
"""
