"""What everything else may use: words, errors, files, colours, the constants of GPUs. It knows nothing of traces."""
