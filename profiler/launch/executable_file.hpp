// Reads the first bytes of an executable file: a script and its interpreter, or an ELF file and its loader.
//
// The few ELF fields are read through <elf.h>, which has the layouts; an ELF library would be a dependency for one
// loop over program headers.
#pragma once

#include <string>

namespace tarn::command {

class executable_file {
 public:
  enum class kind { elf, script, text };  // a text file has no `#!`

  // Reads the start of `path`. Throws cannot_run, with `display_name` as the file's name, when the file is no kind of
  // program.
  executable_file(std::string display_name, std::string path);

  executable_file::kind kind() const { return kind_; }

  // Returns the file in the `#!` line of a script; /bin/sh for a text file.
  const std::string& interpreter() const { return interpreter_; }

  // Checks an ELF file: throws cannot_run unless the dynamic loader of this machine's glibc will start it and obey
  // LD_PRELOAD. `library` is the file name of the library to preload.
  void check_elf(const char* library) const;

 private:
  void read_script();
  void check_header() const;
  std::string loader() const;
  void check_privileges() const;

  std::string display_name_;
  std::string path_;
  std::string start_;  // the first bytes of the file
  enum kind kind_ = kind::text;
  std::string interpreter_;
};

}  // namespace tarn::command
