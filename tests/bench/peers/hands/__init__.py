"""One system each, as a process that is told what to run; but for Signoff's they import nothing of ours."""
