# install, find_package(Tarn) and pkg-config.
#
# Builds with different switches are flavours that may stand side by side under one prefix: release, checks and so on.
# They share headers and the package's configuration. The release has the usual places; another flavour has its libraries
# in lib/tarn/FLAVOUR, and its name at the end of each .pc file's name.
#
# A component is a Debian package (packaging/cpack.cmake).
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME libtarn-dev)

set(tarn_flavour "")
foreach(part IN ITEMS CHECKS SMALL GUARD)
  if(TARN_${part})
    list(APPEND tarn_flavour ${part})
  endif()
endforeach()
list(APPEND tarn_flavour ${TARN_SANITIZE})
list(JOIN tarn_flavour "-" tarn_flavour)
string(TOLOWER "${tarn_flavour}" tarn_flavour)
set(tarn_library_dir "${CMAKE_INSTALL_LIBDIR}/tarn/${tarn_flavour}")
set(tarn_malloc_component libtarn-dev)
if(NOT tarn_flavour)
  set(tarn_flavour release)
  set(tarn_library_dir "${CMAKE_INSTALL_LIBDIR}")
  set(tarn_malloc_component tarn-malloc)
endif()

set(tarn_installed tarn_engine tarn_io tarn_quiet tarn_sync)
if(TARN_BUILD_MALLOC)
  list(APPEND tarn_installed tarn_malloc tarn_malloc_static tarn_malloc_inside)
endif()

# Builds what is installed, and nothing else. Names without a prefix are for this project's own build only.
if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(installed DEPENDS ${tarn_installed})
  if(TARGET tarn_command)
    add_dependencies(installed tarn_command tarn_record tarn_share)
  endif()
  if(TARGET tarn_tidy)
    add_dependencies(installed tarn_tidy)
  endif()
  if(lab_programs)
    add_dependencies(installed ${lab_programs})
  endif()
  # And the server of examples/, which only `./dev install` builds.
  add_custom_target(installed_with_server DEPENDS installed)
  if(TARGET appserver)
    add_dependencies(installed_with_server appserver)
  endif()
endif()
if(TARGET appserver)
  # The target `installed` does not build it.
  install(TARGETS appserver OPTIONAL RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT examples)
  install(FILES examples/appserver/appserver.toml DESTINATION "${CMAKE_INSTALL_DATADIR}/tarn" COMPONENT examples)
endif()

install(TARGETS ${tarn_installed} EXPORT tarn-targets
  ARCHIVE DESTINATION "${tarn_library_dir}"
  LIBRARY DESTINATION "${tarn_library_dir}" COMPONENT ${tarn_malloc_component})
if(TARGET tarn_command)
  install(TARGETS tarn_command tarn_record COMPONENT tarn-tools
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  if(NOT tarn_flavour STREQUAL "release")  # the command looks for what it preloads where the release has it
    install(FILES $<TARGET_FILE:tarn_malloc> DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()

  # For a gdb that trusts the library's folder, and for one of the same prefix (docs/guide/debugger.md).
  foreach(folder IN ITEMS "${CMAKE_INSTALL_LIBDIR}" "${CMAKE_INSTALL_DATADIR}/gdb/auto-load\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}")
    install(FILES profiler/preload/libtarn-record.so-gdb.gdb DESTINATION "${folder}" COMPONENT tarn-tools)
  endforeach()
endif()
if(TARGET tarn_tidy)
  install(TARGETS tarn_tidy COMPONENT tarn-fix LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
# Licences: ours, those of the page's packages, and those of the libraries whose code becomes a part of `tarn`.
set(tarn_doc_dir "${CMAKE_INSTALL_DATADIR}/doc/tarn")
install(FILES LICENSE DESTINATION "${tarn_doc_dir}")
if(TARGET tarn_command)
  # The help of `tarn` names these documents.
  install(DIRECTORY docs/guide docs/reference docs/pictures DESTINATION "${tarn_doc_dir}" COMPONENT tarn-tools
    FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
  install(CODE "cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX OUTPUT_VARIABLE prefix)
    cmake_path(SET folder \"${tarn_doc_dir}\")
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${prefix}\")
    set(folder \"\$ENV{DESTDIR}\${folder}\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/installed_docs.cmake\")" COMPONENT tarn-tools)
  install(FILES "${PROJECT_BINARY_DIR}/web/licences.txt" DESTINATION "${tarn_doc_dir}" COMPONENT tarn-tools OPTIONAL
    RENAME page-licences.txt)
  file(STRINGS packaging/libraries.txt packages REGEX "^[^#]")
  foreach(package IN LISTS packages)
    install(FILES "/usr/share/doc/${package}/copyright" DESTINATION "${tarn_doc_dir}" COMPONENT tarn-tools OPTIONAL
      RENAME "${package}.txt")
  endforeach()
endif()
install(DIRECTORY include/tarn DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# tarn-config.cmake is found as find_package(Tarn) and as find_package(tarn). It is the same for each flavour.
set(TARN_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/tarn" CACHE STRING "The folder of tarn-config.cmake in the prefix")
set(tarn_package_dir "${TARN_INSTALL_CMAKEDIR}")
install(EXPORT tarn-targets NAMESPACE tarn:: DESTINATION "${tarn_package_dir}/${tarn_flavour}")
configure_package_config_file(cmake/tarn-config.cmake.in "${PROJECT_BINARY_DIR}/tarn-config.cmake"
  INSTALL_DESTINATION "${tarn_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tarn-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tarn-config.cmake" "${PROJECT_BINARY_DIR}/tarn-config-version.cmake" cmake/asio.cmake
  DESTINATION "${tarn_package_dir}")

# The .pc files find their prefix from where they are, so that the tree may be moved.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR libdir_is_absolute)
if(libdir_is_absolute)
  set(tarn_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(tarn_pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(place IN ITEMS includedir librarydir)
  set(path "${CMAKE_INSTALL_INCLUDEDIR}")
  if(place STREQUAL "librarydir")
    set(path "${tarn_library_dir}")
  endif()
  cmake_path(IS_ABSOLUTE path is_absolute)
  if(is_absolute)
    set(tarn_pc_${place} "${path}")
  else()
    set(tarn_pc_${place} "\${prefix}/${path}")
  endif()
endforeach()
list(TRANSFORM tarn_switches_on PREPEND " -D" OUTPUT_VARIABLE tarn_pc_definitions)
list(JOIN tarn_pc_definitions "" tarn_pc_definitions)
set(tarn_pc_suffix "")
if(NOT tarn_flavour STREQUAL "release")
  set(tarn_pc_suffix "-${tarn_flavour}")
endif()

# tarn_pkg_config(NAME "description" [REQUIRES name] [PACKAGES name...] [LIBS word...]): NAME.pc, NAME-FLAVOUR.pc.
# REQUIRES is one of these, in the same flavour; PACKAGES are those of others.
function(tarn_pkg_config name description)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "REQUIRES" "PACKAGES;LIBS")
  list(JOIN arg_LIBS " " libs)
  set(requires "")
  if(arg_REQUIRES)
    list(JOIN arg_PACKAGES " " others)
    string(STRIP "${arg_REQUIRES}${tarn_pc_suffix} ${others}" requires)
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/tarn.pc.in" "${PROJECT_BINARY_DIR}/${name}${tarn_pc_suffix}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}${tarn_pc_suffix}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
set(dl "")
if(CMAKE_DL_LIBS)
  set(dl -l${CMAKE_DL_LIBS})
endif()
tarn_pkg_config(tarn "${PROJECT_DESCRIPTION}" LIBS -Wl,-z,nodelete -Wl,-Bsymbolic-functions -ltarn -lstdc++ -pthread)
tarn_pkg_config(tarn-heap "Heaps and pools of Tarn: another name of tarn" REQUIRES tarn)
tarn_pkg_config(tarn-sync "Locking categories of Tarn, in the library of tarn" REQUIRES tarn)
tarn_pkg_config(tarn-asio "Tarn for users of Asio: Boost.Asio, or with -DTARN_ASIO_STANDALONE=1 the one without Boost"
  REQUIRES tarn-sync)
tarn_pkg_config(tarn-io "Files and journals with few system calls" REQUIRES tarn LIBS -ltarn-io ${dl})
tarn_pkg_config(tarn-log "Loggers and formatted lines: tarn-io with {fmt}" REQUIRES tarn-io PACKAGES fmt)
tarn_pkg_config(tarn-quiet "Proof that a path allocates, locks and calls nothing, for tests" REQUIRES tarn
  LIBS -ltarn-quiet ${dl})
if(TARN_BUILD_MALLOC)
  tarn_pkg_config(tarn-malloc "malloc and operator new by Tarn, for programs that are linked with it"
    LIBS -Wl,--push-state,--no-as-needed -ltarn-malloc -Wl,--pop-state)
  tarn_pkg_config(tarn-malloc-static "malloc and operator new by Tarn, for static programs"
    LIBS -Wl,-u,malloc -l:libtarn-malloc.a -pthread)
  tarn_pkg_config(tarn-malloc-inside "malloc and operator new by Tarn, as a part of a program that is not static"
    LIBS -Wl,-u,malloc -l:libtarn-malloc-inside.a -pthread)
endif()
