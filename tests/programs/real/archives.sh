# tar, gzip and bzip2 there and back.
#@ needs tar gzip bzip2
#@ broken-by malloc_short
mkdir tree
for i in {1..60}; do mkdir -p "tree/d$((i % 7))" && seq "$i" $((i * 50)) >"tree/d$((i % 7))/f$i"; done
tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - tree | tee >(sha256sum >sum.tar) | gzip -n -9 >t.gz
sha256sum <t.gz
mkdir out && gzip -dc t.gz | tar -xf - -C out && diff -r tree out/tree && echo same
bzip2 -c t.gz | bzip2 -dc | cmp - t.gz && cat sum.tar
