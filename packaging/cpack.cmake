# What cpack packs: with the generator DEB a Debian package for each component of cmake/install.cmake, with TGZ one
# tarball of all of them. packaging/package.py gives the generator, the builds, the version and the folder of the results.
set(CPACK_PACKAGE_NAME tarn)
set(CPACK_PACKAGE_VENDOR "The Tarn authors")
set(CPACK_PACKAGE_CONTACT "The Tarn authors <tarn@localhost>")
set(CPACK_PACKAGE_DESCRIPTION "Profiler, malloc and library against the waits of threads in C and C++ programs")
set(CPACK_CMAKE_GENERATOR Ninja)
set(CPACK_COMPONENTS_ALL libtarn-dev tarn-malloc tarn-tools tarn-lab)
set(CPACK_STRIP_FILES ON)
set(CPACK_SET_DESTDIR ON)  # installation rules see the prefix of the user
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/finish.cmake")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_FILE_NAME "tarn-${CPACK_PACKAGE_VERSION}-${CMAKE_HOST_SYSTEM_NAME}-${CMAKE_HOST_SYSTEM_PROCESSOR}")
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_INSTALL_PREFIX "")
else()
  set(CPACK_INSTALL_PREFIX /usr)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# tarn_package(NAME SECTION "summary" "description" [DEPENDS package...] [SUGGESTS package...])
macro(tarn_package name section summary description)
  cmake_parse_arguments(arg "" "" "DEPENDS;SUGGESTS" ${ARGN})
  string(TOUPPER "${name}" component)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME "${name}")
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION "${section}")
  set(CPACK_DEBIAN_${component}_DESCRIPTION "${summary}\n${description}")
  list(JOIN arg_DEPENDS ", " CPACK_DEBIAN_${component}_PACKAGE_DEPENDS)
  list(JOIN arg_SUGGESTS ", " CPACK_DEBIAN_${component}_PACKAGE_SUGGESTS)
endmacro()
set(same "(= ${CPACK_PACKAGE_VERSION})")
tarn_package(tarn-malloc libs "malloc with a heap for each thread, for LD_PRELOAD"
"The library libtarn-malloc.so replaces malloc and operator new of a program
without changes to the program. The thread's own heap serves most calls
without a lock, empty memory goes back to the system, and a double free or an
overrun of a sampled block ends the program with a message.")
tarn_package(tarn-tools devel "profiler of heap, locks, system calls and CPU time"
"The command tarn records unmodified C and C++ programs. Its report names the
call sites where threads lose time, with a remedy and its expected gain for
each. It also compares recordings, exports them to other tools, and runs a
program on the malloc of the package tarn-malloc."
  DEPENDS "tarn-malloc ${same}" SUGGESTS "tarn-lab ${same}" libcurl4)
tarn_package(tarn-lab devel "experiments about the cost of memory and locks"
"The command tarn lab runs and compares these programs. They show on the own
machine what pools, arenas, false sharing, locks and the order of memory cost,
also on other mallocs that are installed."
  DEPENDS "tarn-tools ${same}")
tarn_package(libtarn-dev libdevel "heaps, pools, locking categories and I/O for C++20"
"The headers and the static libraries of Tarn, as a release and with internal
checks, with files for CMake and pkg-config. There is no package libtarn0,
because the libraries are static only."
  DEPENDS "tarn-malloc ${same}" SUGGESTS "tarn-tools ${same}")
