"""The report: what a data-protection officer files about a project and its releases."""
