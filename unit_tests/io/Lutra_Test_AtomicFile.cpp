// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
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

}  // namespace
}  // namespace lutra::Test
