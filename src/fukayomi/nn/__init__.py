"""Networks: configuration, blocks and heads, parameter files, export. Imports nothing of ours."""
