"""Other people's conventions, one file each: corpora, feeds of recognisers, subtitles, logs, the hub, SimulEval."""
