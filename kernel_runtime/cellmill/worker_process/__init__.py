"""The worker processes: the zygote that forks them, the loop that runs tasks, what tasks print and draw."""
