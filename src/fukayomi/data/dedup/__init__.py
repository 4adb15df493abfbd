"""Deduplicate and average positions, at any size.

Rows are spread over bucket files by a hash of their position, each bucket is reduced on its own, and the results are put
together in the order of the hash. Memory holds one bucket at a time; a run that was killed goes on where it was.
"""

from fukayomi.data.dedup.folder import JobError
from fukayomi.data.dedup.job import Job, Stage, Summary, run_job
from fukayomi.data.dedup.modes import Mode

__all__ = ["Job", "JobError", "Mode", "Stage", "Summary", "run_job"]
