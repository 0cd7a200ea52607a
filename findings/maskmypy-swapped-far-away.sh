#!/usr/bin/env bash
# maskmypy 1.1.0: in a table of addresses that was filtered, homes are swapped with others far away.
#
# Addresses at a distance between two bounds are found by the rows' labels, and fetched by the rows' places,
# which are other ones once the table was filtered or sorted: the bounds hold for neither end.
#
# Seen, of two homes, addresses every 100 m, and swaps between 150 and 800 m: moved by 200 m each; where every
# second address was left out by 1,400 and 4,400 m.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with maskmypy==1.1.0 geopandas==0.14.4 pandas==2.2.3 numpy==1.26.4 shapely==2.0.7 osmnx==1.9.4 <<'P'
import geopandas
from maskmypy.masks import locationswap
from shapely.geometry import Point

homes = geopandas.GeoDataFrame(geometry=[Point(1000, 0), Point(4000, 0)], crs=2056)
addresses = geopandas.GeoDataFrame(
    {"use": ["home", "shop"] * 50}, geometry=[Point(100 * place, 0) for place in range(100)], crs=2056
)
filtered = addresses[addresses["use"] == "home"]
seen = []
for table in (addresses, filtered, filtered.reset_index(drop=True)):
    moved = locationswap(homes, 150, 800, table, seed=1)
    seen.append(moved.distance(homes).tolist())
print(seen)
assert all(150 <= distance <= 800 for distance in seen[0] + seen[2])
assert all(distance > 800 for distance in seen[1])
P
