"""The editor of joint retention."""
