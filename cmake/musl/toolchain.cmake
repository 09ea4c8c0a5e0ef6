# musl on x86-64: Debian's musl-gcc for C, and for C++ zig, from the Python index or of the system. Its programs run
# here, on the loader of Debian's package musl.
find_program(TARN_ZIG zig HINTS "${CMAKE_CURRENT_LIST_DIR}/../../build/zig/bin" REQUIRED)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER "${CMAKE_CURRENT_LIST_DIR}/compiler" "${TARN_ZIG}")
# musl-gcc leaves out the table by which unwinders find frames. What is not collected of the C++ library needs statx(),
# which Debian 12's musl does not have.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--eh-frame-hdr -Wl,--gc-sections")
set(CMAKE_FIND_ROOT_PATH /usr/lib/x86_64-linux-musl)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(GTest_DIR "${CMAKE_CURRENT_LIST_DIR}/../cross")
set(fmt_DIR "${CMAKE_CURRENT_LIST_DIR}/../cross")
set(nlohmann_json_DIR "${CMAKE_CURRENT_LIST_DIR}/../cross")

# Debian's headers that need no library: the folder of all headers has glibc's. musl-gcc finds no headers of the kernel.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/headers" "${CMAKE_BINARY_DIR}/kernel_headers")
foreach(name IN ITEMS fmt nlohmann xxhash.h)
  file(CREATE_LINK "/usr/include/${name}" "${CMAKE_BINARY_DIR}/headers/${name}" SYMBOLIC)
endforeach()
foreach(name IN ITEMS linux asm-generic x86_64-linux-gnu/asm)
  cmake_path(GET name FILENAME link)
  file(CREATE_LINK "/usr/include/${name}" "${CMAKE_BINARY_DIR}/kernel_headers/${link}" SYMBOLIC)
endforeach()
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/headers")
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/kernel_headers")
