"""One run, several training processes: the first leads, the others follow.

The process that leads is the run: it alone has pool, run folder, workers, engines and a screen, and it trains as if it
were alone. The others have the two models and their trainers, wait, and take part in its updates.
"""
