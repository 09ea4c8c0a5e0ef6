// Makes the HTML report: the page that was built from web/ with one text in it, compressed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace tarn::command {

// Throws a failure if there is a recording at the path, which an export or a page would overwrite.
void keep_recording(const std::string& path);

// The pages of `tarn report` and of `tarn lab`; empty if the build had no npm.
std::string_view report_template();
std::string_view lab_template();

// Throws a failure with a reason in one line if this build has no page, because it was made without npm.
void require_template(std::string_view page = report_template());

// The text is JSON, given in pieces; in the page it is a zlib stream in base64. Threads: one at a time. Each function
// throws a failure if the file cannot be written, and then removes the incomplete file.
class html_file {
 public:
  explicit html_file(const std::string& path, std::string_view page = report_template());
  html_file(const html_file&) = delete;
  html_file& operator=(const html_file&) = delete;
  ~html_file();

  void add(std::string_view text);
  void end();

 private:
  struct packer;
  void pack(std::string_view text, bool is_last);
  void encode(std::string_view bytes, bool is_last);
  void write(std::string_view text);
  void discard();
  void remove() const;

  std::string path_;
  std::string_view page_;
  std::FILE* file_;
  std::unique_ptr<packer> packer_;
  std::string unencoded_;  // at most two bytes, which wait for a third
};

}  // namespace tarn::command
