"""Turns the kernel's knowledge of its tasks into what views show: pure folds over counters and stamps."""
