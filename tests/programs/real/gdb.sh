# gdb looks into a program without starting it.
#@ needs gdb
#@ broken-by realloc_drops
gdb --version | head -n 1
exec gdb -nx -q -batch -ex 'info functions ^main$' -ex 'disassemble main' -ex 'info files' \
  -ex 'print sizeof(long) * 100' /bin/true 2>&1
