"""Training runs, matches, learning runs and folders of self-play, as documents that a page shows while they grow.

| module | |
|---|---|
| `folders` | what a folder is, and the ids by which a page names it |
| `keeping` | documents that are made again only when their files have changed |
| `training`, `matches`, `learning`, `selfplay` | the documents |
| `reader` | all documents, by id |
| `wanted`, `routes` | what may be asked, and what the server answers |

The numbers are those of the commands: each document is made from the readers that ``fukayomi plot``, ``match``,
``rate``, ``strategy`` and ``learn status`` use.
"""
