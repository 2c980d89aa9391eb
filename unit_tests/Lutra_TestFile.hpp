// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTFILE_HPP
#define LUTRA_TESTFILE_HPP

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace lutra::Test {

/// A temporary folder, removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int count = 0;
    m_path = std::filesystem::temp_directory_path() /
             ("lutra_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directory(m_path);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return (m_path / name).string(); }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return path(name);
  }
  std::size_t file_count() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(m_path)) ++count;
    return count;
  }

 private:
  std::filesystem::path m_path;
};

inline std::string read_file(const std::string& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace lutra::Test

#endif
