"""What programs inside the desktop can import."""
