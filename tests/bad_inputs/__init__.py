"""What a custodian can do wrong, each with its message, and nothing lost.

The lists stand in the modules beside this one, one line of prose for each kind of bad input.
`test_bad_inputs` runs them all.
"""
