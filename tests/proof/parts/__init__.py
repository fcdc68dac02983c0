"""What proofs are made of: attacks, faults, mutants, planted secrets, tables of who may."""
