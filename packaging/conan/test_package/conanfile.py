"""Builds the stranger's project of tests/install with the package, and runs its programs."""

import pathlib

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class Consumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain", "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        project = pathlib.Path(self.recipe_folder).parents[2] / "tests/install/consumer"
        cmake = CMake(self)
        cmake.configure({"PARTS": "heap;io;malloc;malloc_static;quiet;sync"}, build_script_folder=project)
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ("heap", "heap_c", "io", "sync", "drop_in", "static"):
                self.run(f'"{self.cpp.build.bindir}/{program}"', env="conanrun")
