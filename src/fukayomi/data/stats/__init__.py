"""What is in files of training data: ``fukayomi data stats``."""

from fukayomi.data.stats.measure import Statistics, measure

__all__ = ["Statistics", "measure"]
