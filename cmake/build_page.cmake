# cmake -DNPM=… -DNODE=… -DFROM=web -DTO=BUILD/web -P build_page.cmake: TO/page/index.html and TO/page/lab.html.
file(REMOVE_RECURSE "${TO}/src")  # with what is no longer in FROM
file(COPY "${FROM}/" DESTINATION "${TO}" PATTERN node_modules EXCLUDE)

# Packages are fetched again only when the lock changes.
file(SHA256 "${TO}/package-lock.json" lock)
set(fetched "")
if(EXISTS "${TO}/fetched.txt")
  file(READ "${TO}/fetched.txt" fetched)
endif()
if(NOT fetched STREQUAL lock)
  execute_process(COMMAND "${NPM}" ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error
    --fetch-retries=1 --fetch-timeout=30000
    WORKING_DIRECTORY "${TO}" TIMEOUT 240 RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE words)
  if(failed)
    file(WRITE "${TO}/npm.log" "${words}")
    file(WRITE "${TO}/page/index.html" "")
    file(WRITE "${TO}/page/lab.html" "")
    message(NOTICE "npm cannot fetch its packages (${TO}/npm.log): tarn report --html will be missing; "
      "remove ${TO} to try again")
    return()
  endif()
  file(WRITE "${TO}/fetched.txt" "${lock}")
endif()

# The licences of the packages that become a part of the pages, in the order of their names.
file(READ "${TO}/package-lock.json" lock)
string(JSON count LENGTH "${lock}" packages)
math(EXPR last "${count} - 1")
file(WRITE "${TO}/licences.txt" "The pages of tarn report --html and tarn lab --html contain these packages.\n")
foreach(number RANGE ${last})
  string(JSON package MEMBER "${lock}" packages ${number})
  string(JSON only_for_build ERROR_VARIABLE unset GET "${lock}" packages "${package}" dev)
  if(package AND NOT only_for_build)
    string(JSON version GET "${lock}" packages "${package}" version)
    string(REGEX REPLACE "^node_modules/" "" name "${package}")
    file(READ "${TO}/${package}/LICENSE" text)
    file(APPEND "${TO}/licences.txt" "\n== ${name} ${version}\n${text}")
  endif()
endforeach()

foreach(page IN ITEMS index lab)
  execute_process(COMMAND "${NODE}" node_modules/vite/bin/vite.js build --mode ${page} --logLevel warn
    WORKING_DIRECTORY "${TO}" RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "The page cannot be built")
  endif()
  file(TOUCH "${TO}/page/${page}.html")
endforeach()
