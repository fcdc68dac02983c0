"""data-retrieval, data-processing, summary."""
