"""Coding: write programs, try them, submit them to hidden tests."""
