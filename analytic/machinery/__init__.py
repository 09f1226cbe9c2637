"""Mathematics that more than one subject uses: laws, processes, chains, decisions, transforms."""
