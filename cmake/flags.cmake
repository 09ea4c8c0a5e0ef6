# Compiler flags, each with its reason, as functions that a target asks for.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# The build tree has bin/ and lib/ as the installed tree has, so that bin/tarn finds ../lib/libtarn-malloc.so in both.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# -O2 as the default of a release: -O3 of GCC 12 unrolls cold loops of an allocator and gains nothing on the hot path.
foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_FLAGS_RELEASE "-O2 -DNDEBUG")
  if(TARN_SANITIZE)  # their reports name lines, not variables: a quarter of the time to compile
    set(CMAKE_${language}_FLAGS_DEBUG "-Og -g1")
  else()
    set(CMAKE_${language}_FLAGS_DEBUG "-Og -g")
  endif()
endforeach()

# GCC looks for garbage from 512 MiB on instead of 128: an eighth less time to compile, a quarter more memory.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)

set(tarn_warnings -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND tarn_warnings -Wno-sign-conversion)  # as with GCC, a change of sign alone is no warning
  list(APPEND tarn_warnings $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety>)  # annotated locks are checked
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsized-deallocation>)  # a part of C++20 that Clang 16 leaves off
endif()
if(TARN_WERROR)
  list(APPEND tarn_warnings -Werror)
endif()

set(tarn_sanitizers "")
if(TARN_SANITIZE STREQUAL "address")
  # Null pointers are found by the crash, and the check of each takes an eighth of the time to compile.
  set(tarn_sanitizers
    -fsanitize=address,undefined -fno-sanitize=null,vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(TARN_SANITIZE STREQUAL "thread")
  set(tarn_sanitizers -fsanitize=thread -fno-omit-frame-pointer)
endif()

if(TARN_FUZZ)  # coverage for libFuzzer, without its main
  list(APPEND tarn_sanitizers -fsanitize=fuzzer-no-link)
endif()

# What every target of this project gets: warnings, and the sanitizers of the build.
function(tarn_target target)
  target_compile_options(${target} PRIVATE ${tarn_warnings} ${tarn_sanitizers})
  target_link_options(${target} PRIVATE ${tarn_sanitizers})
endfunction()

# The build's switches, always defined as 0 or 1 in this project, so that -Wundef finds a misspelt one. The headers read
# them, too (include/tarn/detail/config.hpp), so they are PUBLIC. Installed, a target passes on those that are 1: the
# others have that default.
set(tarn_switches_on "")
foreach(switch IN ITEMS TARN_CHECKS TARN_SMALL)
  if(${switch})
    list(APPEND tarn_switches_on ${switch}=1)
  endif()
endforeach()
if(TARN_SANITIZE STREQUAL "address")  # free blocks are poisoned
  list(APPEND tarn_switches_on TARN_ADDRESS_SANITIZER=1)
endif()
function(tarn_switches target)
  foreach(switch IN ITEMS TARN_CHECKS TARN_SMALL)
    target_compile_definitions(${target} PUBLIC $<BUILD_INTERFACE:${switch}=$<BOOL:${${switch}}>>)
  endforeach()
  if(TARN_SANITIZE STREQUAL "address")
    target_compile_definitions(${target} PUBLIC $<BUILD_INTERFACE:TARN_ADDRESS_SANITIZER=1>)
  endif()
  target_compile_definitions(${target}
    PUBLIC "$<INSTALL_INTERFACE:${tarn_switches_on}>" PRIVATE TARN_GUARD=$<BOOL:${TARN_GUARD}>)
endfunction()

# The engine: position independent without a jump through the PLT, the thread-local pointer in the static TLS block,
# nothing exported by default, no unwinding and no run-time types.
function(tarn_engine_flags target)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE
    -ftls-model=initial-exec -fno-plt -ffunction-sections -fdata-sections
    "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/="  # assertions name files of the project, not the folder of a build
    $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)  # one copy's inline variables are not another one's
endfunction()

# Files that neither throw nor need run-time types say so, so that nothing of the C++ runtime slips into the drop-in.
function(tarn_without_exceptions)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fno-exceptions -fno-rtti)
endfunction()
