"""Spreadsheets as plain data, read from a file by openpyxl once and safe to compare."""

from rlanything_verifiers.osworld.sheets.book import Book, Sheet
from rlanything_verifiers.osworld.sheets.styles import STYLES

__all__ = ["STYLES", "Book", "Sheet"]
