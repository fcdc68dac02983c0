"""What tests of the doors for machines share: asks, fakes of providers, hostile servers."""
