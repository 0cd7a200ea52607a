"""What other holders' tables tell beside a generalized one."""
