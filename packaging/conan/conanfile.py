"""The library and the malloc of Tarn, for Conan 2: docs/guide/packages.md."""

import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.scm import Version

# The first compiler of each kind that the tests use.
OLDEST = {"gcc": "12", "clang": "16"}


class Tarn(ConanFile):
    name = "tarn"
    description = "Heaps, pools, locking categories and a crash-safe log for C++20 and C, and a malloc for LD_PRELOAD"
    license = "MIT"
    topics = ("allocator", "malloc", "memory", "locks", "rcu", "logging")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"

    def set_version(self):
        header = pathlib.Path(self.recipe_folder).parents[1] / "include/tarn/version.hpp"
        text = header.read_text(encoding="utf-8")
        self.version = ".".join(re.search(rf"define TARN_VERSION_{part} +(\d+)", text)[1]
                                for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, pathlib.Path(self.recipe_folder).parents[1], self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration(
                f"Tarn is for Linux on x86_64 and armv8, not for {self.settings.os} on {self.settings.arch}")
        if self.settings.compiler.get_safe("cppstd"):
            check_min_cppstd(self, 20)

    def validate_build(self):
        compiler = str(self.settings.compiler)
        oldest = OLDEST.get(compiler)
        if not oldest or Version(self.settings.compiler.version) < oldest:
            raise ConanInvalidConfiguration(
                f"Tarn is built by gcc 12 or clang 16 or later, not by {compiler} {self.settings.compiler.version}")

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TOOLS", "TESTS", "BENCH", "LAB", "EXAMPLES"):
            toolchain.cache_variables[f"TARN_BUILD_{part}"] = False
        toolchain.cache_variables["CMAKE_INSTALL_LIBDIR"] = "lib"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="installed")

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")

    def package_info(self):
        # CMake finds the package's own files, so find_package(Tarn) gives the targets and the components of any other
        # installation. The components here are for Meson, Autotools and pkg-config.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/tarn"]

        def component(name, package, libs=(), requires=(), **arguments):
            part = self.cpp_info.components[name]
            part.set_property("pkg_config_name", package)
            part.builddirs = ["lib/cmake/tarn"]
            part.libs = list(libs)
            part.requires = list(requires)
            for field, value in arguments.items():
                setattr(part, field, value)

        # The same words as in cmake/install.cmake.
        own_copy = ["-Wl,-z,nodelete", "-Wl,-Bsymbolic-functions"]
        component("heap", "tarn", ["tarn"], system_libs=["stdc++", "pthread"], sharedlinkflags=own_copy,
                  exelinkflags=own_copy)
        component("sync", "tarn-sync", requires=["heap"])
        component("io", "tarn-io", ["tarn-io"], ["heap"], system_libs=["dl"])
        component("quiet", "tarn-quiet", ["tarn-quiet"], ["heap"], system_libs=["dl"])
        folder = f"-L{self.package_folder}/lib"
        component("malloc", "tarn-malloc", exelinkflags=[
            "-Wl,--push-state,--no-as-needed", folder, "-l:libtarn-malloc.so", "-Wl,--pop-state"])
        component("malloc_inside", "tarn-malloc-inside", system_libs=["pthread"], exelinkflags=[
            "-Wl,-u,malloc", folder, "-l:libtarn-malloc-inside.a"])
        component("malloc_static", "tarn-malloc-static", system_libs=["pthread"], exelinkflags=[
            "-Wl,-u,malloc", folder, "-l:libtarn-malloc.a"])
