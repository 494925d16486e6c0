"""Functions shared by the kinds about slides."""

from rlanything_task_pools.osworld.kinds.base import pressed

__all__ = ["SAVE", "WORDS_ONLY"]

SAVE = pressed("ctrl+s")

WORDS_ONLY = {
    f"examine_{look}": False
    for look in (
        "shape",
        "font_name",
        "font_size",
        "font_bold",
        "font_italic",
        "font_underline",
        "strike_through",
        "color_rgb",
        "alignment",
        "bullets",
    )
}
"""Options of a comparison of slides in which the words count, and looks do not."""
