"""What tests of doors share: asks, fakes of providers, hostile servers, a monitor."""
