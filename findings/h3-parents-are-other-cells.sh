#!/usr/bin/env bash
# h3 4.5.0: of places that are coarsened in two steps, one in twenty is in another cell.
#
# Cells of H3 are hexagons, and seven of them do not fill the next larger one. The parent of a
# place's cell is not always the larger cell that the place lies in: a table that was coarsened
# from cells, and one from coordinates, count other people in a cell. Where both are published,
# their difference is of the few people at the cell's border.
#
# Seen: 6 % of 20,000 places have another cell of resolution 7 as the parent of their cell of
# resolution 9; counts of most cells differ.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with h3==4.5.0 <<'P'
import random
from collections import Counter

import h3

generator = random.Random(0)
places = [(generator.uniform(46.8, 47.5), generator.uniform(7, 8.5)) for _ in range(20_000)]
cells = [h3.latlng_to_cell(*place, 7) for place in places]
parents = [h3.cell_to_parent(h3.latlng_to_cell(*place, 9), 7) for place in places]
others = sum(cell != parent for cell, parent in zip(cells, parents)) / len(places)
one, two = Counter(cells), Counter(parents)
changed = sum(one[cell] != two[cell] for cell in one) / len(one)
print(f"{others:.1%} of the places, {changed:.0%} of the cells' counts")
assert 0.04 < others < 0.08 and changed > 0.5
P
