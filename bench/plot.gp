# gnuplot -c bench/plot.gp RESULTS.csv FOLDER: SCENE.svg for each scene that has three populations or densities. Columns:
# 6 scene, 8 entities, 9 neighbours, 10 layer, 11 engine, 13 ns_min. A flat line is a cost that does not grow with the map.
set datafile separator comma
set datafile missing NaN
set terminal svg size 880,410 background "white"
set logscale xy
set grid
set key outside
awk(program) = system("awk -F, '" . program . "' '" . ARG1 . "' | sort -u")
do for [scene in awk("$7 == \"\" && !s[$6,$8,$9]++ && ++n[$6] == 3 { print $6 }")] {
  at = scene eq "dense" ? 9 : 8
  set output ARG2 . "/" . scene . ".svg"
  set multiplot layout 1,2 title scene . ": ns per operation, minimum of rounds"
  set xlabel at == 9 ? "neighbours" : "entities"
  do for [layer in awk("$6 == \"" . scene . "\" { print $10 }")] {
    set title layer eq "c" ? "in C" : "through Lua"
    plot for [engine in awk("$6 == \"" . scene . "\" && $10 == \"" . layer . "\" && $7 == \"\" { print $11 }")] ARG1 \
      using (strcol(6) eq scene && strcol(10) eq layer && strcol(11) eq engine ? column(at) : NaN):13 \
      with linespoints title engine
  }
  unset multiplot
}
