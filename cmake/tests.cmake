# How a suite names its tests. Labels pick tests in ./dev test: the suite's folder always is one.
#   unit     over the fake platform, fast
#   threads  worth running under ThreadSanitizer
#   release  worth running on the release build (the drop-in as it is installed)
#   serial   must not run beside others
include(GoogleTest)

# tarn_test(NAME SOURCES file... [FAKE] [LABELS label...] [TIMEOUT s] [LIBRARIES lib...])
# A GoogleTest program over the engine, or over the engine on the fake platform; one ctest entry a TEST.
function(tarn_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FAKE" "TIMEOUT" "SOURCES;LABELS;LIBRARIES")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME suite)
  add_executable(test_${name} ${arg_SOURCES})
  tarn_target(test_${name})
  if(arg_FAKE)
    target_link_libraries(test_${name} PRIVATE tarn_engine_fake)
  else()
    target_link_libraries(test_${name} PRIVATE tarn_engine)
  endif()
  target_link_libraries(test_${name} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  gtest_discover_tests(test_${name} TEST_PREFIX "${suite}." DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${suite};${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# tarn_program(NAME SOURCES file... [PLAIN] [LIBRARIES lib...])
# A small program that other tests run. PLAIN: without Tarn, to be run on the drop-in.
function(tarn_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PLAIN" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  tarn_target(${name})
  if(NOT arg_PLAIN)
    target_link_libraries(${name} PRIVATE tarn_engine)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} Threads::Threads)
endfunction()

# tarn_script_test(NAME COMMAND word... [LABELS label...] [TIMEOUT s] [ENVIRONMENT k=v...])
# Any command as a test: what a runner in Python checks.
function(tarn_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT")
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME suite)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${suite}.${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${suite}.${name} PROPERTIES
    LABELS "${suite};${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}")
  if("serial" IN_LIST arg_LABELS)
    set_tests_properties(${suite}.${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
