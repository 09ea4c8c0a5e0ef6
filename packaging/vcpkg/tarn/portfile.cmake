# The library and the malloc of Tarn, from the checkout that has this file: docs/guide/packages.md.
# The package for Debug is the flavour with checks, beside the release as in any other installation.
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DTARN_BUILD_TOOLS=OFF
    -DTARN_BUILD_TESTS=OFF
    -DTARN_BUILD_BENCH=OFF
    -DTARN_BUILD_LAB=OFF
    -DTARN_BUILD_EXAMPLES=OFF
    -DTARN_INSTALL_CMAKEDIR=share/tarn
  OPTIONS_DEBUG
    -DTARN_CHECKS=ON
)
vcpkg_cmake_install()

# vcpkg keeps one file of targets for both builds, and looks for a copy of it in each of them. Tarn has one for each
# flavour, so the other build gets a copy.
if(NOT DEFINED VCPKG_BUILD_TYPE)
  file(COPY "${CURRENT_PACKAGES_DIR}/share/tarn/release/tarn-targets.cmake"
    DESTINATION "${CURRENT_PACKAGES_DIR}/debug/share/tarn/release")
  file(COPY "${CURRENT_PACKAGES_DIR}/debug/share/tarn/checks/tarn-targets.cmake"
    DESTINATION "${CURRENT_PACKAGES_DIR}/share/tarn/checks")
endif()
# The files are installed where vcpkg wants them, and the folders of the flavours are a level lower than it expects.
vcpkg_cmake_config_fixup(NO_PREFIX_CORRECTION)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE
  "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
