// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_BYTESOURCE_HPP
#define LUTRA_BYTESOURCE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace lutra::Impl {

/// Failure to open, read or decompress a file; LineReader converts it to a FileError.
class SourceError : public std::runtime_error {
 public:
  explicit SourceError(const std::string& what) : std::runtime_error(what) {}
};

/// Stream of decompressed bytes.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Reads at most `capacity` bytes into `buffer`. @returns their number; 0 only at the end of the stream
  /// @throws SourceError
  virtual std::size_t read(char* buffer, std::size_t capacity) = 0;

  /// Total size of the stream in bytes; known for plain files.
  virtual std::optional<std::int64_t> total_bytes() const { return std::nullopt; }
};

/// Opens a file, or standard input for "-". Recognises gzip and xz by their first bytes, not by file name.
/// @throws SourceError
std::unique_ptr<ByteSource> open_source(const std::string& file);

}  // namespace lutra::Impl

#endif
