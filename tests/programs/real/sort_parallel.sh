# sort with two threads over two hundred thousand lines.
#@ needs sort seq
#@ broken-by malloc_short
seq 1 200000 | sed 's/\(.*\)\(.\)/\2\1-\2/' | sort --parallel=2 -S 20M | sha256sum
seq 1 50000 | shuf --random-source=<(seq 1 100000) | sort -n --parallel=2 | cksum
