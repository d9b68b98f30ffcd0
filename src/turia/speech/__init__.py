"""From sound to words: sources of sound, and speech recognisers behind one seam (turia.speech.recogniser)."""
