"""Maps of pictures and texts learnt by a contrastive loss: the model, and its training in torch."""

from visterm.models.contrastive.contrastive import Contrastive

__all__ = ["Contrastive"]
