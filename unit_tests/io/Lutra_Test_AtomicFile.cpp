// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <filesystem>

#include "Lutra_AtomicFile.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_TestFile.hpp"

namespace lutra::Test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Impl::AtomicFile;

void write_text(const std::string& file, const std::string& text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

TEST_CASE("a dangling link is followed and kept", "[io]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("there"));
  std::filesystem::create_symlink("second", folder.path("first"));
  std::filesystem::create_symlink("there/file", folder.path("second"));
  write_text(folder.path("first"), "one");
  CHECK(std::filesystem::is_symlink(folder.path("first")));
  CHECK(std::filesystem::is_symlink(folder.path("second")));
  CHECK(read_file(folder.path("there/file")) == "one");
  write_text(folder.path("second"), "two");
  CHECK(std::filesystem::is_symlink(folder.path("second")));
  CHECK(read_file(folder.path("there/file")) == "two");
}

TEST_CASE("link loops and long names are refused without a change", "[io]") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("b", folder.path("a"));
  std::filesystem::create_symlink("a", folder.path("b"));
  CHECK_THROWS_MATCHES(AtomicFile(folder.path("a")), FileError,
                       MessageMatches(ContainsSubstring("Too many levels of symbolic links")));
  CHECK(std::filesystem::is_symlink(folder.path("a")));
  CHECK_THROWS_MATCHES(AtomicFile(folder.path(std::string(300, 'x'))), FileError,
                       MessageMatches(ContainsSubstring("File name too long")));
  CHECK(folder.file_count() == 2);
  const std::string longest(255, 'y');  // the longest name of a file
  write_text(folder.path(longest), "long");
  CHECK(read_file(folder.path(longest)) == "long");
  CHECK(folder.file_count() == 3);
}

TEST_CASE("unfinished files can be removed at any time", "[io]") {
  const TemporaryFolder folder;
  {
    AtomicFile one(folder.path("one")), two(folder.path("two"));
    CHECK(folder.file_count() == 2);
    one.write("text");
    one.commit();
    Impl::remove_unfinished_files();
    CHECK(read_file(folder.path("one")) == "text");
    CHECK(folder.file_count() == 1);
  }
  Impl::remove_unfinished_files();
  CHECK(folder.file_count() == 1);
}

/// The largest file that this process may write, restored at the end.
class FileLimit {
 public:
  explicit FileLimit(::rlim_t bytes) : m_handler(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &m_before);
    const ::rlimit limit{bytes, m_before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &m_before);
    std::signal(SIGXFSZ, m_handler);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  ::rlimit m_before{};
  void (*m_handler)(int);
};

TEST_CASE("a disk that fills while a file is written leaves the file as it was", "[io]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "before"), long_text(1000000, 'x');
  for (const ::rlim_t bytes : {::rlim_t{0}, ::rlim_t{1}, ::rlim_t{4096}, ::rlim_t{999999}}) {
    const FileLimit limit(bytes);
    for (const std::string& name : {file, folder.path("other")}) {
      AtomicFile out(name);
      CHECK_THROWS_MATCHES(
          [&] {
            for (int part = 0; part < 10; ++part) out.write(long_text.substr(0, long_text.size() / 10));
            out.commit();
          }(),
          FileError, MessageMatches(ContainsSubstring(name + ": cannot be written: File too large")));
    }
    CHECK(folder.file_count() == 1);
    CHECK(read_file(file) == "before");
  }
  const FileLimit limit(1000000);
  write_text(file, long_text);
  CHECK(read_file(file) == long_text);
}

}  // namespace
}  // namespace lutra::Test
