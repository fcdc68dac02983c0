"""What the board reads, and the little it keeps: lines, spans, stories, visits. No plan moves here."""
