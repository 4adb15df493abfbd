"""Reports of an analysis: the evaluation graph, the web page, the annotated record, the JSON document."""
