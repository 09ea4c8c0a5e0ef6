// The page that was built from web/, and a file made of it: the page with one text in it, compressed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace tarn::command {

// The page of `tarn report`, and that of `tarn lab`; empty where the build had no npm.
std::string_view report_page();
std::string_view lab_page();

// Throws a failure with one line that says why where this build has no page: it was made without npm.
void require_page(std::string_view page = report_page());

// The text is JSON, given in pieces; in the page it is a zlib stream in base64. One thread at a time. Each function
// throws a failure where the file cannot be written; what there is of it then is removed.
class page_file {
 public:
  explicit page_file(const std::string& path, std::string_view page = report_page());
  page_file(const page_file&) = delete;
  page_file& operator=(const page_file&) = delete;
  ~page_file();

  void add(std::string_view text);
  void end();

 private:
  struct packer;
  void pack(std::string_view text, bool is_last);
  void encode(std::string_view bytes, bool is_last);
  void write(std::string_view text);
  void remove() const;

  std::string path_;
  std::string_view page_;
  std::FILE* file_;
  std::unique_ptr<packer> packer_;
  std::string rest_;  // at most two bytes, that wait for a third
};

}  // namespace tarn::command
