# Builds the libraries for meson.build, and copies those that have changed:
#   cmake -DBUILD=FOLDER -DTO=FOLDER -P build.cmake
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" COMMAND_ERROR_IS_FATAL ANY)
file(GLOB libraries RELATIVE "${BUILD}/lib" "${BUILD}/lib/libtarn*")
foreach(library IN LISTS libraries)
  file(COPY_FILE "${BUILD}/lib/${library}" "${TO}/${library}" ONLY_IF_DIFFERENT)
endforeach()
