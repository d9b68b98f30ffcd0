"""Live captions: a web page, a WebSocket, and sessions that outlive both. No torch in here."""
