"""Worker processes of this machine, warm and forked from one zygote: the default backend."""
