"""Deduplicate and average positions, at any size.

Rows are spread over bucket files by a hash of their position, and each bucket is reduced on its own; the output is in
the order of the hash. Memory holds one bucket at a time. A run that was killed goes on where it was.
"""

from fukayomi.data.dedup.folder import JobError
from fukayomi.data.dedup.job import Job, Listener, Stage, Summary, run_job
from fukayomi.data.dedup.modes import Mode

__all__ = ["Job", "JobError", "Listener", "Mode", "Stage", "Summary", "run_job"]
