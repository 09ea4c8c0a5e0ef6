# jq builds, groups and prints some ten thousand values.
#@ needs jq
#@ broken-by realloc_drops
exec jq -n -c '[range(8000) | {id: ., word: "w\(. * 7919 % 101)", list: [range(. % 5)]}]
  | group_by(.word) | map({word: .[0].word, n: length, sum: (map(.id) | add), lists: (map(.list) | add)})
  | sort_by(-.sum) | .[]'
