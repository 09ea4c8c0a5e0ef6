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

foreach(page IN ITEMS index lab)
  execute_process(COMMAND "${NODE}" node_modules/vite/bin/vite.js build --mode ${page} --logLevel warn
    WORKING_DIRECTORY "${TO}" RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "The page cannot be built")
  endif()
  file(TOUCH "${TO}/page/${page}.html")
endforeach()
