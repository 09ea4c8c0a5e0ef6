# CMake runs a script with lists, strings, regular expressions, JSON and files.
#@ needs cmake
#@ broken-by malloc_short
cmake --version
cat >script.cmake <<'END'
set(all "")
foreach(i RANGE 3000)
  math(EXPR n "${i} * 7919 % 1009")
  list(APPEND all "w${n}")
endforeach()
list(SORT all)
list(REMOVE_DUPLICATES all)
list(JOIN all "," text)
string(REGEX REPLACE "w([0-9])([0-9]*)" "\\2-\\1" text "${text}")
string(SHA256 sum "${text}")
set(json "{}")
foreach(i RANGE 100)
  string(JSON json SET "${json}" k${i} "\"${sum}\"")
endforeach()
string(LENGTH "${json}" length)
file(GLOB_RECURSE found LIST_DIRECTORIES true /usr/share/cmake*/Modules/*.cmake)
list(LENGTH found count)
message("${sum} ${length} ${count}")
END
exec cmake -P script.cmake 2>&1
