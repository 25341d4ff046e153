"""Programs of others: TileLang scripts in the manner of what people publish, and what runs them traced and untraced.

``scripts/`` holds the programs, ``header`` reads what each predicts of itself, ``building`` builds their kernels
without a GPU, ``running`` runs one in one way, ``matching`` compares what came out with what was predicted, and
``python -m programs`` runs them all.
"""
