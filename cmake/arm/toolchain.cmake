# 64-bit Arm on another processor: Debian's cross compiler, and QEMU, which runs what is built. The packages beside this
# file stand for those of Debian whose libraries are for the processor of the build.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_IGNORE_PREFIX_PATH /usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu)
set(GTest_DIR "${CMAKE_CURRENT_LIST_DIR}/../cross")
set(fmt_DIR "${CMAKE_CURRENT_LIST_DIR}/../cross")
