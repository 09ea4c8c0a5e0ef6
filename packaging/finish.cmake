# Before cpack packs the staged components: archives lose their debug information, and a Debian package gets what
# Debian's policy asks of its documents.
file(GLOB_RECURSE archives "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.a")
foreach(archive IN LISTS archives)
  execute_process(COMMAND strip --strip-debug --enable-deterministic-archives "${archive}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()

# A file compressed without its name and time.
function(tarn_compress path)
  execute_process(COMMAND gzip --best --no-name --force "${path}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(project "${CMAKE_CURRENT_LIST_DIR}/..")

# The licence in the form of DEP-5: lines begin with a space, and an empty one is a dot.
file(READ "${project}/LICENSE" licence)
if(NOT licence MATCHES "Copyright [(]c[)] ([^\n]+)\n\n(.+[^\n])")
  message(FATAL_ERROR "LICENSE: no line \"Copyright (c) YEAR NAME\" before the text")
endif()
set(holder "${CMAKE_MATCH_1}")
string(REGEX REPLACE "\n" "\n " licence "${CMAKE_MATCH_2}")
string(REPLACE "\n \n" "\n .\n" licence "${licence}")
set(others_tarn-lab "")
set(others_tarn-malloc "Comment: libtarn-malloc.so has code of GCC's libgcc_eh.a and libgcc.a, which the GCC\n Runtime Library Exception allows under any terms.\n")
set(others_tarn-tools "Comment: The command has code of other libraries, whose licences are the files *.txt in\n this folder.\n")
set(others_libtarn-dev "${others_tarn-malloc}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  set(share "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share")
  set(documents "${share}/doc/${component}")
  if(EXISTS "${share}/doc/tarn")
    file(RENAME "${share}/doc/tarn" "${documents}")
    file(REMOVE "${documents}/LICENSE")  # its text is the file copyright
    foreach(folder IN ITEMS guide reference pictures)  # the help names them as they are under any prefix
      if(EXISTS "${documents}/${folder}")
        file(MAKE_DIRECTORY "${share}/doc/tarn")
        file(RENAME "${documents}/${folder}" "${share}/doc/tarn/${folder}")
      endif()
    endforeach()
  endif()
  file(WRITE "${documents}/copyright"
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
    "Upstream-Name: Tarn\nUpstream-Contact: ${CPACK_PACKAGE_CONTACT}\nSource: the repository of the project\n"
    "${others_${component}}\nFiles: *\nCopyright: ${holder}\nLicense: Expat\n ${licence}\n")
  # The other copy of it, in share/gdb, needs no trust in a folder; ldconfig takes this one for a library.
  file(REMOVE "${share}/../lib/libtarn-record.so-gdb.gdb")
  file(WRITE "${documents}/changelog"
    "tarn (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * The project's CHANGELOG.md names what changed.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  tarn_compress("${documents}/changelog")
  if(EXISTS "${share}/man/man1/tarn.1")
    tarn_compress("${share}/man/man1/tarn.1")
  endif()
endforeach()
