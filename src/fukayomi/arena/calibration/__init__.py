"""Finding the clock at which two engines are equal."""
