#!/bin/sh
# Writes the tables and pictures of this folder anew, from a match of league.toml:
#
#     sh docs/examples/league/make.sh OPENINGS.sfen MATCH_FOLDER
#
# The match is played first if it is not there yet. fukayomi and the engines must be on PATH.
set -eu
openings=$1
match=$2
here=$(dirname "$0")
export COLUMNS=120

fukayomi match --config "$here/league.toml" --openings "$openings" --out "$match" > "$here/match.txt"
fukayomi rate "$match" > "$here/rate.txt"
fukayomi rate "$match" --bayes > "$here/rate-bayes.txt"
fukayomi rate "$match" --pairs > "$here/rate-pairs.txt"
fukayomi rate "$match" --anchor fairy-stockfish=0 --hide gpsusi > "$here/rate-anchor.txt"
fukayomi first-move "$match" > "$here/first-move.txt"
fukayomi first-move "$match" --distinct > "$here/first-move-distinct.txt"
fukayomi sprt --games "$match" --players fukayomi-256 fairy-stockfish --elo0 0 --elo1 50 > "$here/sprt.txt"
fukayomi strategy "$match" --csv "$here/strategy.csv" --picture "$here/strategy.svg" > "$here/strategy.txt"
fukayomi strategy "$match" --by engine --min-count 3 > "$here/strategy-by-engine.txt"
