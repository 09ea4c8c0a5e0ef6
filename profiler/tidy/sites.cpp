#include "profiler/tidy/sites.hpp"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

namespace tarn::tidy {

std::string real_path(llvm::StringRef path) {
  llvm::SmallString<256> result;
  return llvm::sys::fs::real_path(path, result) ? path.str() : result.str().str();
}

std::string site_list::read(llvm::StringRef path, llvm::StringRef check) {
  const auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) return buffer.getError().message();
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse((*buffer)->getBuffer());
  if (!parsed) return llvm::toString(parsed.takeError());
  const llvm::json::Object* whole = parsed->getAsObject();
  const llvm::json::Array* entries = whole == nullptr ? nullptr : whole->getArray("sites");
  if (entries == nullptr) return "it has no array \"sites\"";
  for (const llvm::json::Value& entry : *entries) {
    const llvm::json::Object* fields = entry.getAsObject();
    const auto file = fields == nullptr ? std::nullopt : fields->getString("file");
    const auto line = fields == nullptr ? std::nullopt : fields->getInteger("line");
    const auto name = fields == nullptr ? std::nullopt : fields->getString("check");
    if (!file || !line || *line < 1 || !name) return "a site needs \"file\", \"line\" and \"check\"";
    const std::int64_t bytes = fields->getInteger("bytes").value_or(0);
    if (bytes < 0) return "a site has fewer than 0 \"bytes\"";
    if (!check.empty() && *name != check) continue;
    sites_.push_back({name->str(), real_path(*file), static_cast<unsigned>(*line), static_cast<std::uint64_t>(bytes)});
  }
  return "";
}

const site* site_list::find(const clang::SourceManager& sources, clang::SourceRange range) const {
  const clang::PresumedLoc begin = sources.getPresumedLoc(sources.getExpansionLoc(range.getBegin()), false);
  const clang::PresumedLoc end = sources.getPresumedLoc(sources.getExpansionLoc(range.getEnd()), false);
  if (begin.isInvalid() || end.isInvalid()) return nullptr;
  std::string file;
  const site* found_site = nullptr;
  for (const site& candidate : sites_) {
    if (candidate.line < begin.getLine() || candidate.line > end.getLine()) continue;
    if (file.empty()) file = real_path(begin.getFilename());
    if (candidate.file != file) continue;
    // Of several lines of one expression, the largest buffers count.
    if (found_site == nullptr || candidate.bytes > found_site->bytes) found_site = &candidate;
  }
  return found_site;
}

}  // namespace tarn::tidy
