"""Where sentences end in a stream of words. Only network, training and export may import torch."""
