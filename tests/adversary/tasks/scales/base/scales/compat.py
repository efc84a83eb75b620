"""What older interpreters lack; nothing at present."""
