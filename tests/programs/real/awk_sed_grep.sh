# The small tools in a pipeline: awk with tables, sed with a hold space, grep, diff, find, bc-like sums.
#@ needs awk sed grep diff find
#@ broken-by malloc_short
seq 1 60000 | awk '{ n[$1 % 977] += $1; s[$1 % 977] = s[$1 % 977] $1 } END { for (i = 0; i < 977; ++i) print i, n[i], length(s[i]) }' >a
sed -n 'H;${x;s/\n/;/g;p}' a | sha256sum
grep -E '(7[0-9]*){3}' a | wc -l
sed 's/1/one/' a | diff a - | sha256sum
find /usr/include -name '*.h' | sort | xargs -n 50 cat 2>/dev/null | grep -o '#define [A-Z_]*' | sort | uniq -c | sort -rn | head -n 200 | sha256sum
