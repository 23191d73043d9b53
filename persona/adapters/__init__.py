"""One module per outside thing; each implements a port and translates its vendor's errors."""
