"""Work that can be killed and resumed."""
