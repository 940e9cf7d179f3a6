"""What people do for a suite: they label outputs, and choose which ones."""
