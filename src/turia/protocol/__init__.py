"""What clients and the server say to each other, and a client. Knows neither server nor engine."""
