#!/usr/bin/env bash
# maskmypy 1.1.0: homes that are moved at random are moved half as far again to the north or south as east or west.
#
# The way to the east is drawn evenly up to the distance, and that to the north is what is left of it. Directions
# near north and south are likelier than others; who sees a point finds the home above or below it sooner than
# beside it.
#
# Seen, of 20,000 homes moved by 100 to 500 m: on the average by 150 m east or west, and by 235 m north or south.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with maskmypy==1.1.0 geopandas==0.14.4 pandas==2.2.3 numpy==1.26.4 shapely==2.0.7 osmnx==1.9.4 <<'P'
import geopandas
from maskmypy.masks import donut
from shapely.geometry import Point

homes = geopandas.GeoDataFrame(geometry=[Point(0, 0)] * 20000, crs=2056)
moved = donut(homes, 100, 500, seed=1).geometry
east, north = moved.x.abs().mean(), moved.y.abs().mean()
print(east, north)
assert abs(east - 150) < 5 and abs(north - 235) < 5
P
