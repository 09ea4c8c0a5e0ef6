# make with two jobs over eighty targets.
#@ needs make
#@ broken-by malloc_short
for i in {1..80}; do echo "t$i: $( ((i > 4)) && echo "t$((i - 3)) t$((i / 2))"); @echo \$@ \$^ >\$@; cat \$^ </dev/null >>\$@" | sed 's/; /\n\t/; s/; /\n\t/'; done >Makefile
make -j2 -s t80 && cat t80 | sha256sum
