"""Positions with targets: files of hcpe records, and how games become them."""
