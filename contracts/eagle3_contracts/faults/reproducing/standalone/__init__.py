"""What goes into every reproducer as it stands: standard library only, and no import of this package."""
