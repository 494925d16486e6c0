"""Log files: lines of a service and an event."""

from rlanything_task_pools.osworld.kinds.base import draw_several
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

__all__ = ["log_lines"]


def log_lines(rng: RngStream, words: Words, count: int) -> tuple[list[str], list[str], list[str]]:
    """Lines of a log, its events and its services, both in random order.

    Every event and every service occurs, the first event at least three times.
    """
    events, services = draw_several(rng, words.events, 3), draw_several(rng, words.services, 3)
    pairs = [(events[0], service) for service in services] + [(event, services[0]) for event in events]
    pairs += [(rng.pick(events), rng.pick(services)) for _ in range(count - len(pairs))]
    lines = []
    minute = rng.below(30)
    for number, place in enumerate(rng.shuffled(len(pairs))):
        event, service = pairs[place]
        minute += 1 + rng.below(3)
        lines.append(f"09:{minute % 60:02d} {event} {service} job{number + 1}")
    return lines, events, services
