# install, find_package(Tarn) and pkg-config.
include(CMakePackageConfigHelpers)

set(tarn_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tarn")
set(tarn_installed tarn_engine tarn_io tarn_quiet tarn_sync)
if(TARN_BUILD_MALLOC)
  list(APPEND tarn_installed tarn_malloc)
endif()

# Builds what is installed, and nothing else.
add_custom_target(installed DEPENDS ${tarn_installed})
if(TARGET tarn_command)
  add_dependencies(installed tarn_command tarn_record tarn_share)
endif()
if(lab_programs)
  add_dependencies(installed ${lab_programs})
endif()
# And the server of examples/, which only `./dev install` builds.
add_custom_target(installed_with_server DEPENDS installed)
if(TARGET appserver)
  add_dependencies(installed_with_server appserver)
  install(TARGETS appserver RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(FILES examples/appserver/appserver.toml DESTINATION "${CMAKE_INSTALL_DATADIR}/tarn")
endif()

install(TARGETS ${tarn_installed} EXPORT tarn-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET tarn_command)
  install(TARGETS tarn_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(TARGETS tarn_record LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(DIRECTORY include/tarn DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT tarn-targets NAMESPACE tarn:: DESTINATION "${tarn_package_dir}")

# tarn-config.cmake is found as find_package(Tarn) and as find_package(tarn).
configure_package_config_file(cmake/tarn-config.cmake.in "${PROJECT_BINARY_DIR}/tarn-config.cmake"
  INSTALL_DESTINATION "${tarn_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tarn-config-version.cmake" COMPATIBILITY SameMinorVersion)
configure_file(cmake/tarn.pc.in "${PROJECT_BINARY_DIR}/tarn.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tarn-config.cmake" "${PROJECT_BINARY_DIR}/tarn-config-version.cmake"
  DESTINATION "${tarn_package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/tarn.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
