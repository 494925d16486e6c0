"""Small office files, written byte for byte the same on every machine.

The libraries that write such files put clocks, their own version and a compression into them that differ from machine
to machine, and a task is identified by its content. What is written here is the least that office programs open.
"""

from rlanything_task_pools.osworld.office.document import Document, Paragraph
from rlanything_task_pools.osworld.office.slides import Slide, Slides
from rlanything_task_pools.osworld.office.workbook import Look, Sheet, Workbook, cell_name

__all__ = ["Document", "Look", "Paragraph", "Sheet", "Slide", "Slides", "Workbook", "cell_name"]
