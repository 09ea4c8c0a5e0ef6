# How a suite names its tests. A label beside the suite's own name says where else a test is worth its time
# (TARN_TEST_LABELS of the preset; the dev build has all of them, the asan build all that need no drop-in):
#   threads  under ThreadSanitizer
#   release  on the release build, where the drop-in is the one that is installed
#   serial   not beside other tests
#   long     not in a plain `./dev test`
include(GoogleTest)

# Of a version manager, find_package finds a shell script that finds Python, in three times the time of a short test.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.executable)"
  OUTPUT_VARIABLE Python3_EXECUTABLE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

# The seconds after which a test hangs, also on a machine with ten times the work that it can do. A limit guards against
# hangs alone: no test judges how long something takes.
set(tarn_hang_seconds 900)

# Lines are enough of a test's debug information: a quarter of the time to compile.
set(tarn_test_flags $<$<CONFIG:Debug>:-g1>)

# GoogleTest's headers, compiled once: they are most of what a small test has to read.
function(tarn_test_headers)
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/headers.cpp" CONTENT "")
  add_library(tarn_test_headers OBJECT "${CMAKE_CURRENT_BINARY_DIR}/headers.cpp")
  tarn_target(tarn_test_headers)
  target_compile_options(tarn_test_headers PRIVATE ${tarn_test_flags})
  target_link_libraries(tarn_test_headers PRIVATE tarn_engine tarn_internal GTest::gmock)
  target_precompile_headers(tarn_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# Sets `out` when this build has tests with one of the labels.
function(tarn_wanted out)
  set(wanted OFF)
  if(NOT TARN_TEST_LABELS)
    set(wanted ON)
  endif()
  foreach(label IN LISTS ARGN)
    if(label IN_LIST TARN_TEST_LABELS)
      set(wanted ON)
    endif()
  endforeach()
  set(${out} ${wanted} PARENT_SCOPE)
endfunction()

# A regular expression of the tests that do not run here. They are listed as disabled.
set(pattern "^$")
if(CMAKE_CROSSCOMPILING)
  cmake_path(GET CMAKE_TOOLCHAIN_FILE PARENT_PATH toolchain)
  include("${toolchain}/left_out.cmake" OPTIONAL)  # a user's own toolchain has none
  if(tarn_left_out)
    list(JOIN tarn_left_out "|" pattern)
  endif()
endif()
set(tarn_left_out "${pattern}")

# tarn_test(NAME SOURCES file... [FAKE] [LABELS label...] [TIMEOUT s] [LIBRARIES lib...])
# A GoogleTest program over the engine, or over the engine on the fake platform; one ctest entry a TEST.
function(tarn_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FAKE" "TIMEOUT" "SOURCES;LABELS;LIBRARIES")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME suite)
  tarn_wanted(wanted ${suite} ${arg_LABELS})
  if(NOT wanted OR name IN_LIST tarn_left_out_unit_tests)
    return()
  endif()
  foreach(library IN LISTS arg_LIBRARIES)
    if(library MATCHES "^tarn_" AND NOT TARGET ${library})  # of the tools, where there are none
      return()
    endif()
  endforeach()
  add_executable(test_${name} ${arg_SOURCES})
  tarn_target(test_${name})
  target_compile_options(test_${name} PRIVATE ${tarn_test_flags})
  if(arg_FAKE)
    target_link_libraries(test_${name} PRIVATE tarn_engine_fake)
  else()
    target_link_libraries(test_${name} PRIVATE tarn_engine)
  endif()
  target_link_libraries(test_${name} PRIVATE tarn_internal)
  target_link_libraries(test_${name} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main ${tarn_test_libraries})
  target_include_directories(test_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  if(NOT arg_SOURCES MATCHES "\\.c(;|$)")  # CMake would want them compiled as C, too
    target_precompile_headers(test_${name} REUSE_FROM tarn_test_headers)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${tarn_hang_seconds})
  endif()
  gtest_discover_tests(test_${name} TEST_PREFIX "${TARN_TEST_PREFIX}${suite}." TEST_LIST found DISCOVERY_TIMEOUT ${tarn_hang_seconds})
  # gtest_discover_tests cannot pass on a property that is a list, so a second script sets the properties.
  set(serial OFF)
  if("serial" IN_LIST arg_LABELS)
    set(serial ON)
  endif()
  set(program "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/test_${name}")
  set(script "${CMAKE_CURRENT_BINARY_DIR}/test_${name}_properties.cmake")
  file(CONFIGURE OUTPUT "${script}" @ONLY CONTENT [[
foreach(test IN LISTS found)
  if(test MATCHES "-byte object <")
    message(FATAL_ERROR "${test}: has bytes of the parameter, which differ from build to build: write a PrintTo")
  endif()
  set_tests_properties("${test}" PROPERTIES LABELS "@suite@;@arg_LABELS@" TIMEOUT @arg_TIMEOUT@ RUN_SERIAL @serial@
    REQUIRED_FILES "@program@")
  if(test MATCHES "@tarn_left_out@")
    set_tests_properties("${test}" PROPERTIES DISABLED ON)
  endif()
endforeach()
unset(found)
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

# tarn_program(NAME SOURCES file... [PLAIN] [LIBRARIES lib...])
# A small program that other tests run. PLAIN: without Tarn, to be run on the drop-in.
function(tarn_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PLAIN" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  tarn_target(${name})
  if(NOT arg_PLAIN)
    target_link_libraries(${name} PRIVATE tarn_engine tarn_internal)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} Threads::Threads)
endfunction()

# tarn_script_test(NAME COMMAND word... [LABELS label...] [TIMEOUT s] [ENVIRONMENT k=v...] [INPUTS path...])
# Any command as a test: what a runner in Python checks. Those that may take longest start first.
# INPUTS are the files and folders on which the result depends, with the files that the command names and nothing else:
# a plain `./dev test` runs the test only if one of them has changed since it passed (tests/run.py).
function(tarn_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT;INPUTS")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME suite)
  tarn_wanted(wanted ${suite} ${arg_LABELS})
  if(NOT wanted)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${tarn_hang_seconds})
  endif()
  set(test "${TARN_TEST_PREFIX}${suite}.${name}")
  add_test(NAME ${test} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${test} PROPERTIES
    LABELS "${suite};${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} COST ${arg_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}")
  if(arg_INPUTS)
    set_tests_properties(${test} PROPERTIES REQUIRED_FILES "${arg_INPUTS}")
  endif()
  if("serial" IN_LIST arg_LABELS)
    set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
  endif()
  if(test MATCHES "${tarn_left_out}")
    set_tests_properties(${test} PROPERTIES DISABLED ON)
  endif()
endfunction()
