"""The experiments of Xiao, Tao and Chen (VLDB 2009, section 7), with multi-pert as published."""
