"""Spreadsheets as plain data: what openpyxl finds in a file, read once and safe to compare."""

from rlanything_verifiers.osworld.sheets.book import Book, Sheet
from rlanything_verifiers.osworld.sheets.styles import STYLES

__all__ = ["STYLES", "Book", "Sheet"]
