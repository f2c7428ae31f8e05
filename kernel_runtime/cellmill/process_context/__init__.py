"""What holds for a whole process or thread: settings that values depend on, signals, what runs in it."""
