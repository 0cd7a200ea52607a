"""Maps the resources at the top level into the package; pyproject.toml says all else."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages("app"), "sfumato.resources"],
    package_dir={"": "app", "sfumato.resources": "resources"},
    package_data={"sfumato.resources": ["**/*"]},
)
