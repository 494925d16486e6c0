"""The words that generated tasks are made of: two vocabularies that share no word, one of which no training uses."""

from dataclasses import dataclass

__all__ = ["SEEN", "UNSEEN", "Words", "words_of"]


@dataclass(frozen=True, slots=True)
class Words:
    """A vocabulary. No word of a list begins with another of it, so that sorted files stay in a plain order."""

    topics: tuple[str, ...]
    """For folders, files and sheets."""
    files: tuple[str, ...]
    """For files, apart from topics."""
    items: tuple[str, ...]
    """Things that are counted or sold."""
    people: tuple[str, ...]
    places: tuple[str, ...]
    events: tuple[str, ...]
    """Events of a log, in capitals."""
    services: tuple[str, ...]
    """Sources of a log's events."""
    settings: tuple[str, ...]
    """Names of settings."""
    sentences: tuple[str, ...]
    """Without an apostrophe or a quote, which office programs replace while one types."""
    sites: tuple[str, ...]
    """Names of web sites, which also are the second-level domains of their addresses."""


SEEN = Words(
    topics=("budget", "holiday", "recipes", "garden", "research", "music", "invoices", "meetings", "photos", "travel"),
    files=("agenda", "chapter", "draft", "summary", "letter", "outline", "minutes", "survey", "review", "contract"),
    items=("apples", "pears", "plums", "lemons", "grapes", "melons", "cherries", "peaches", "walnuts", "figs"),
    people=("Anna", "Bruno", "Clara", "David", "Elena", "Felix", "Greta", "Hugo", "Irene", "Jonas"),
    places=("Berlin", "Lisbon", "Oslo", "Prague", "Vienna", "Dublin", "Madrid", "Warsaw", "Zurich", "Athens"),
    events=("ERROR", "WARNING", "NOTICE", "TIMEOUT", "RESTART"),
    services=("database", "mailer", "scheduler", "gateway", "printer", "backup"),
    settings=("volume", "brightness", "timeout", "language", "retries", "theme"),
    sentences=(
        "The meeting starts at nine.",
        "Please bring the signed forms.",
        "The train leaves from platform four.",
        "All invoices were paid in March.",
        "The garden needs water every evening.",
        "Nobody has seen the blue folder.",
        "The results arrive on Friday.",
        "Two boxes are still in the cellar.",
        "The new printer stands on the second floor.",
        "Lunch is served in the small hall.",
    ),
    sites=("maplemarket", "stonebridge", "quietlibrary", "redkettle", "openharbor", "greenwindow"),
)

UNSEEN = Words(
    topics=("taxes", "wedding", "exams", "kitchen", "sports", "archive", "orders", "lessons", "posters", "camping"),
    files=("leaflet", "essay", "report", "sketch", "memo", "record", "journal", "abstract", "proposal", "transcript"),
    items=("chairs", "lamps", "tables", "carpets", "mirrors", "shelves", "curtains", "pillows", "clocks", "vases"),
    people=("Karl", "Lena", "Mateo", "Nora", "Oscar", "Paula", "Quentin", "Rosa", "Simon", "Tilda"),
    places=("Bergen", "Naples", "Porto", "Geneva", "Krakow", "Bristol", "Malaga", "Ghent", "Tartu", "Split"),
    events=("FAILURE", "CAUTION", "UPDATE", "OVERLOAD", "SHUTDOWN"),
    services=("router", "firewall", "compiler", "archiver", "balancer", "monitor"),
    settings=("contrast", "interval", "keyboard", "margin", "sensitivity", "workers"),
    sentences=(
        "The lecture was moved to Tuesday.",
        "Every guest gets a printed map.",
        "The bridge is closed until summer.",
        "We ordered twelve wooden frames.",
        "The library opens an hour later.",
        "Somebody left a grey umbrella here.",
        "The first draft has forty pages.",
        "Three windows face the courtyard.",
        "The bakery delivers before sunrise.",
        "Rehearsals take place in the old barn.",
    ),
    sites=("copperfield", "brightorchard", "slowriver", "paperlantern", "northcabin", "bluethimble"),
)


def words_of(split: str) -> Words:
    """The vocabulary of a split."""
    return UNSEEN if split == "valid_unseen" else SEEN
