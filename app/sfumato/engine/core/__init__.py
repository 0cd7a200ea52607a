"""What every room stands on: errors, progress, wording, values, columns, parallel work."""
