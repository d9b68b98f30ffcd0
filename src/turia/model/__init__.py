"""One Transformer for all encoders. `masks` is numpy alone; the rest needs torch."""
