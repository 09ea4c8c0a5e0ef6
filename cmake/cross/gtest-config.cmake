# GoogleTest from Debian's sources.
set(BUILD_SHARED_LIBS OFF)
add_subdirectory(/usr/src/googletest "${CMAKE_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
