"""Traces as files that other tools read: Perfetto, Chrome's trace events, Parquet, pictures."""
