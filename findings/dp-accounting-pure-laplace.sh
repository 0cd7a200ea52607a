#!/usr/bin/env bash
# dp-accounting 0.6.0: three Laplace mechanisms of ε = 1 have ε = ∞ for δ = 0.
#
# Laplace noise is purely ε-differentially private, and three releases of ε = 1 are 3 together. Both
# accountants tell infinity for δ = 0, and 3 for a small δ: the one rounds its distribution of
# privacy losses, the other looks at finite orders only.
#
# Seen: inf and inf; 3.00 for δ = 1e-6.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with dp-accounting==0.6.0 numpy==2.4.6 <<'P'
import math

from dp_accounting import dp_event, pld, rdp

for accountant in (rdp.RdpAccountant, pld.PLDAccountant):
    made = accountant()
    made.compose(dp_event.LaplaceDpEvent(1.0), 3)
    pure, nearly = made.get_epsilon(0), made.get_epsilon(1e-6)
    print(accountant.__name__, pure, round(nearly, 3))
    assert math.isinf(pure)
    assert abs(nearly - 3) < 0.01
P
