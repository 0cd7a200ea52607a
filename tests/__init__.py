"""Tests of Sfumato, one folder for each room of the house."""
