"""The project file on the disk: database, secret, staging, migrations."""
