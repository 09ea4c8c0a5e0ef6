# The page of `tarn report --html`, built from web/ with npm. Without npm, or where it cannot fetch the packages that
# web/package-lock.json names, the build goes on without the page, and says so in one line.
set(tarn_web "${PROJECT_SOURCE_DIR}/web")
set(tarn_web_build "${PROJECT_BINARY_DIR}/web")
set(tarn_page "${tarn_web_build}/page/index.html")
set(tarn_lab_page "${tarn_web_build}/page/lab.html")  # of `tarn lab --html`
find_program(TARN_NPM npm)
find_program(TARN_NODE NAMES node nodejs)
mark_as_advanced(TARN_NPM TARN_NODE)

if(TARN_NPM AND TARN_NODE)
  file(GLOB_RECURSE tarn_web_sources CONFIGURE_DEPENDS "${tarn_web}/src/*")
  list(APPEND tarn_web_sources "${tarn_web}/index.html" "${tarn_web}/lab.html" "${tarn_web}/package.json" "${tarn_web}/package-lock.json"
    "${tarn_web}/vite.config.ts" "${tarn_web}/tsconfig.json" "${tarn_web}/.npmrc")
  add_custom_command(OUTPUT "${tarn_page}" "${tarn_lab_page}"
    COMMAND "${CMAKE_COMMAND}" "-DNPM=${TARN_NPM}" "-DNODE=${TARN_NODE}" "-DFROM=${tarn_web}" "-DTO=${tarn_web_build}"
      -P "${PROJECT_SOURCE_DIR}/cmake/build_page.cmake"
    DEPENDS ${tarn_web_sources} "${PROJECT_SOURCE_DIR}/cmake/build_page.cmake"
    COMMENT "Building the pages of tarn report --html and tarn lab --html" VERBATIM)
else()
  message(NOTICE "No npm (Debian packages nodejs and npm): tarn report --html will be missing")
  file(CONFIGURE OUTPUT "${tarn_page}" CONTENT "")
  file(CONFIGURE OUTPUT "${tarn_lab_page}" CONTENT "")
endif()
