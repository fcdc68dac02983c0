"""The workers that come with Signoff, one file each."""
