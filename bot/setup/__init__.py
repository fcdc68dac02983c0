"""`signoff init`: from what is found on this machine to files that start it. Overwrites nothing."""
