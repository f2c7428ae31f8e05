"""The state of a whole process or thread: settings that values depend on, signals, its descendants."""
