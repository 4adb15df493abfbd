"""The analysis of a game (棋譜解析): the search of its positions, and what each move lost."""
