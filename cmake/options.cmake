# What a build can be asked for. The presets set these; nothing else needs to.
include(CMakeDependentOption)

# Inside another project the build type is that project's to choose.
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

option(TARN_CHECKS "Internal assertions, and is_valid() after changes of a structure" OFF)
option(TARN_SMALL "Shrunk constants, so that rare paths are common in tests" OFF)
option(TARN_GUARD "Guarded blocks unless TARN_GUARD=0 is in the environment" OFF)
option(TARN_WERROR "Warnings are errors" OFF)
option(TARN_UNITY "Compile the tools and the tests in batches of files, which is quicker" OFF)
option(TARN_FUZZ "The libFuzzer target; Clang only" OFF)
set(TARN_SANITIZE "" CACHE STRING "Sanitizers: empty, address (with undefined) or thread")
set_property(CACHE TARN_SANITIZE PROPERTY STRINGS "" address thread)
if(NOT TARN_SANITIZE MATCHES "^(address|thread)?$")
  message(FATAL_ERROR "TARN_SANITIZE=${TARN_SANITIZE}: not empty, address or thread")
endif()

# A sanitizer brings its own malloc, so there is no drop-in beside it.
cmake_dependent_option(TARN_BUILD_MALLOC "libtarn-malloc.so, the drop-in" ON "TARN_SANITIZE STREQUAL \"\"" OFF)
cmake_dependent_option(TARN_BUILD_TOOLS "The tarn command" ${PROJECT_IS_TOP_LEVEL} "TARN_BUILD_MALLOC" OFF)
option(TARN_BUILD_TESTS "The tests" ${PROJECT_IS_TOP_LEVEL})
option(TARN_INSTALL "Installation rules for Tarn" ${PROJECT_IS_TOP_LEVEL})
set(TARN_TEST_LABELS "" CACHE STRING "Only the tests with one of these labels; empty: all of them")
set(TARN_TEST_PREFIX "" CACHE STRING "Begins the name of each test, to tell builds apart that are tested together")
option(TARN_BUILD_BENCH "The bench programs" ${PROJECT_IS_TOP_LEVEL})
option(TARN_BUILD_LAB "The programs of the lab" ${PROJECT_IS_TOP_LEVEL})
option(TARN_BUILD_EXAMPLES "The examples" ${PROJECT_IS_TOP_LEVEL})
