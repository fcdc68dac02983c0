"""The workers that come with Signoff, a folder for each or for a few alike; none imports another."""
