"""What an analysis looks like: the evaluation graph, the page, the annotated record."""
