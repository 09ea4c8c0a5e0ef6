# xz with two threads: the packed bytes are the same, and unpack to what went in.
#@ needs xz
#@ broken-by malloc_short
seq 1 300000 >data
xz -T2 --block-size=500000 -2 -c data >data.xz && sha256sum <data.xz
xz -T2 -d -c data.xz | cmp - data && xz -l --robot data.xz | grep -c totals
