// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FUZZ_HPP
#define LUTRA_FUZZ_HPP

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "Lutra_Error.hpp"

/// Entry point of a fuzz target: libFuzzer calls it with each input it invents, lutra_replay_* with each file
/// of a corpus. @returns 0
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lutra::Fuzz {

/// A property that does not hold. No target catches it, so that libFuzzer keeps the input.
class BrokenPromise : public std::runtime_error {
 public:
  explicit BrokenPromise(const std::string& what) : std::runtime_error("broken promise: " + what) {}
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw BrokenPromise(what);
}

/// Bytes of an input: decisions from the front, the rest as text.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : m_rest(data, size) {}

  /// Takes the next byte; 0 at the end.
  std::uint8_t take_byte() {
    if (m_rest.empty()) return 0;
    const std::uint8_t byte = m_rest.front();
    m_rest = m_rest.subspan(1);
    return byte;
  }
  bool empty() const { return m_rest.empty(); }
  /// All bytes not taken.
  std::string_view text() const { return {reinterpret_cast<const char*>(m_rest.data()), m_rest.size()}; }

 private:
  std::span<const std::uint8_t> m_rest;
};

/// Folder of this process for files that readers read and writers write; removed at the end of the process.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lutra_fuzz.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "no scratch folder " + name);
    m_path = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const char* name) const { return (m_path / name).string(); }

 private:
  std::filesystem::path m_path;
};

/// Path of a scratch file.
inline std::string scratch_file(const char* name) {
  static const ScratchFolder folder;
  return folder.file(name);
}

/// Writes a scratch file. @returns its path
inline std::string written(const char* name, std::string_view bytes) {
  const std::string path = scratch_file(name);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path);
  return path;
}

/// A message for a user is short and has no control bytes, whatever the file holds.
inline void check_message(std::string_view message) {
  require(!message.empty() && message.size() <= 4000,
          "a message has " + std::to_string(message.size()) + " bytes");
  const bool clean =
      std::ranges::none_of(message, [](char c) { return static_cast<unsigned char>(c) < ' '; });
  require(clean, "a message has control bytes");
}

/// Calls `read`. @returns whether it returned; false after an error that a caller may expect from bad input
template <class Read>
bool accepted(const Read& read) {
  try {
    read();
    return true;
  } catch (const InputError& error) {
    check_message(error.what());
  } catch (const OutOfMemoryError& error) {
    check_message(error.what());
  }
  return false;
}

}  // namespace lutra::Fuzz

#endif
