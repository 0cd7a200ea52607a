"""What the pages about small groups share: whom they ask about, and what an attacker knows."""
