"""data-retrieval, data-processing and summary: rows are fetched, worked on and told. Changes nothing."""
