"""What the kernel knows about its tasks, made ready for views: pure folds over counters and stamps."""
