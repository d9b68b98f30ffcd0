"""One Transformer for all encoders, in torch."""
