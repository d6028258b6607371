"""Training the small recogniser: its network, its data, its losses and its export."""
