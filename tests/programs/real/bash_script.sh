# A shell script with arrays, arithmetic, pipes, sub-shells and a here document.
#@ broken-by realloc_drops
declare -A count
for ((i = 0; i < 3000; ++i)); do
  word=w$((i * 7919 % 101))
  count[$word]=$((${count[$word]:-0} + i))
done
for word in "${!count[@]}"; do echo "$word ${count[$word]}"; done | sort
text=$(for i in {1..500}; do (printf '%d,' "$i"); done)
echo "${text//,/;}" | tr ';' '\n' | grep -c 7
cat <<END
${text:0:40}
END
