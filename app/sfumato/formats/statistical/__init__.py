"""The files of statistical packages: SPSS, Stata and SAS."""
