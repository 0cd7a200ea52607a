"""What recipients would see and estimate, before any release."""
