"""What has changed since a release, and what a next edition would tell."""
