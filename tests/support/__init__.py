"""What tests share: fakes, builders, servers on loopback. No test lives here."""
