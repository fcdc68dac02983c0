"""The contract, for anybody's worker."""
