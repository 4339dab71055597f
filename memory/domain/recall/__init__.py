"""Recall: which facts and questions go into a block (``selection``), how much a concept matters (``saliency``), and how
a block is rendered (``rendering``)."""
