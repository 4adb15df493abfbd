"""CSA records: reading through the native core, the moves as columns, writing."""
