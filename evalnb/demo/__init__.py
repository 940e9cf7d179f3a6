"""Six months of synthetic history, to try the monthly review on before there is any of one's own."""
