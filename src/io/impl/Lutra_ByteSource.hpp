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

/// A file that cannot be opened, read or decompressed; the reader of lines turns it into a FileError.
class SourceError : public std::runtime_error {
 public:
  explicit SourceError(const std::string& what) : std::runtime_error(what) {}
};

/// A stream of bytes, decompressed.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Reads at most `capacity` bytes into `buffer`; 0 only at the end of the stream.
  /// @throws SourceError
  virtual std::size_t read(char* buffer, std::size_t capacity) = 0;

  /// Bytes of the whole stream, known for plain files.
  virtual std::optional<std::int64_t> total_bytes() const { return std::nullopt; }
};

/// Opens a file, or standard input for "-". gzip and xz are recognised by their first bytes, whatever the
/// name.
/// @throws SourceError
std::unique_ptr<ByteSource> open_source(const std::string& file);

}  // namespace lutra::Impl

#endif
