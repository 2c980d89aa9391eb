// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_ByteSource.hpp"

#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "Lutra_Error.hpp"
#include "Lutra_UsableMemory.hpp"

namespace lutra::Impl {
namespace {

constexpr std::size_t input_bytes = std::size_t{1} << 18;  // compressed bytes held at once
constexpr std::string_view gzip_magic("\x1f\x8b", 2);
constexpr std::string_view xz_magic(
    "\xfd"
    "7zXZ\0",
    6);

// File descriptor that allows peeking at its first bytes.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& file)
      : m_is_stdin(file == "-"),
        m_descriptor(m_is_stdin ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (m_descriptor < 0) throw SourceError(std::string("cannot be opened: ") + std::strerror(errno));
    peek();
  }
  ~FileSource() override {
    if (!m_is_stdin) ::close(m_descriptor);
  }

  bool starts_with(std::string_view magic) const {
    return std::string_view(m_peeked.data(), m_n_peeked).starts_with(magic);
  }

  std::size_t read(char* buffer, std::size_t capacity) override {
    if (m_n_taken < m_n_peeked) {
      const std::size_t count = std::min(capacity, m_n_peeked - m_n_taken);
      std::memcpy(buffer, m_peeked.data() + m_n_taken, count);
      m_n_taken += count;
      return count;
    }
    return read_descriptor(buffer, capacity);
  }

  std::optional<std::int64_t> total_bytes() const override {
    struct ::stat status {};
    if (m_is_stdin || ::fstat(m_descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return static_cast<std::int64_t>(status.st_size);
  }

 private:
  void peek() {
    try {
      while (m_n_peeked < m_peeked.size()) {
        const std::size_t count = read_descriptor(m_peeked.data() + m_n_peeked, m_peeked.size() - m_n_peeked);
        if (count == 0) break;
        m_n_peeked += count;
      }
    } catch (...) {  // the destructor does not run if the constructor throws
      if (!m_is_stdin) ::close(m_descriptor);
      throw;
    }
  }

  std::size_t read_descriptor(char* buffer, std::size_t capacity) const {
    for (;;) {
      const ::ssize_t count = ::read(m_descriptor, buffer, capacity);
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) throw SourceError(std::string("cannot be read: ") + std::strerror(errno));
    }
  }

  bool m_is_stdin;
  int m_descriptor;
  std::array<char, 6> m_peeked{};  // first bytes of the file; as long as the longest magic number
  std::size_t m_n_peeked = 0;
  std::size_t m_n_taken = 0;  // peeked bytes already returned
};

/// For a library that could not allocate, which is not the file's fault.
[[noreturn]] void throw_out_of_memory(const char* library) {
  throw OutOfMemoryError(std::string(library) + " has not enough memory to decompress", 0);
}

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> inner) : m_inner(std::move(inner)), m_input(input_bytes) {
    constexpr int largest_window_gzip_only = 15 + 16;  // 2¹⁵ bytes; 16: no zlib header
    const int result = ::inflateInit2(&m_stream, largest_window_gzip_only);
    if (result == Z_MEM_ERROR) throw_out_of_memory("zlib");
    if (result != Z_OK) throw SourceError("zlib cannot be started");
  }
  ~GzipSource() override { ::inflateEnd(&m_stream); }

  std::size_t read(char* buffer, std::size_t capacity) override {
    if (m_done) return 0;
    const auto room = static_cast<uInt>(std::min<std::size_t>(capacity, std::numeric_limits<uInt>::max()));
    m_stream.next_out = reinterpret_cast<Bytef*>(buffer);
    m_stream.avail_out = room;
    while (m_stream.avail_out == room && !m_done) {
      if (m_stream.avail_in == 0 && !fill()) throw SourceError("the gzip data is cut off");
      const int result = ::inflate(&m_stream, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        next_member();
      } else if (result == Z_MEM_ERROR) {
        throw_out_of_memory("zlib");
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        throw SourceError(std::string("the gzip data is damaged: ") +
                          (m_stream.msg != nullptr ? m_stream.msg : "it needs a dictionary"));
      }
    }
    return room - m_stream.avail_out;
  }

 private:
  bool fill() {
    const std::size_t count = m_inner->read(m_input.data(), m_input.size());
    m_stream.next_in = reinterpret_cast<Bytef*>(m_input.data());
    m_stream.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  // gzip files may be concatenated, and padded with zero bytes by tape programs.
  void next_member() {
    for (;;) {
      if (m_stream.avail_in == 0 && !fill()) {
        m_done = true;
        return;
      }
      if (*m_stream.next_in != 0) break;
      ++m_stream.next_in;
      --m_stream.avail_in;
    }
    if (*m_stream.next_in != static_cast<Bytef>(gzip_magic[0])) {
      throw SourceError("there is something else after the end of the gzip data");
    }
    ::inflateReset(&m_stream);
  }

  std::unique_ptr<ByteSource> m_inner;
  std::vector<char> m_input;  // compressed input; unused bytes start at m_stream.next_in
  ::z_stream m_stream{};
  bool m_done = false;
};

class XzSource final : public ByteSource {
 public:
  explicit XzSource(std::unique_ptr<ByteSource> inner) : m_inner(std::move(inner)), m_input(input_bytes) {
    const ::lzma_ret result = ::lzma_stream_decoder(&m_stream, usable_memory_bytes(), LZMA_CONCATENATED);
    if (result == LZMA_MEM_ERROR) throw_out_of_memory("liblzma");
    if (result != LZMA_OK) throw SourceError("liblzma cannot be started");
  }
  ~XzSource() override { ::lzma_end(&m_stream); }

  std::size_t read(char* buffer, std::size_t capacity) override {
    m_stream.next_out = reinterpret_cast<std::uint8_t*>(buffer);
    m_stream.avail_out = capacity;
    while (m_stream.avail_out == capacity && !m_done) {
      if (m_stream.avail_in == 0 && m_action == LZMA_RUN) fill();
      const ::lzma_ret result = ::lzma_code(&m_stream, m_action);
      if (result == LZMA_STREAM_END) {
        m_done = true;
      } else if (result == LZMA_MEM_ERROR) {
        throw_out_of_memory("liblzma");
      } else if (result != LZMA_OK) {
        throw SourceError(reason(result));
      }
    }
    return capacity - m_stream.avail_out;
  }

 private:
  void fill() {
    m_stream.avail_in = m_inner->read(m_input.data(), m_input.size());
    m_stream.next_in = reinterpret_cast<const std::uint8_t*>(m_input.data());
    if (m_stream.avail_in == 0) m_action = LZMA_FINISH;
  }

  static std::string reason(::lzma_ret result) {
    switch (result) {
      case LZMA_BUF_ERROR:
        return "the xz data is cut off";
      case LZMA_MEMLIMIT_ERROR:
        return "the xz data needs more memory to decompress than there is";
      case LZMA_OPTIONS_ERROR:
        return "the xz data uses a feature this liblzma does not know";
      default:
        return "the xz data is damaged";
    }
  }

  std::unique_ptr<ByteSource> m_inner;
  std::vector<char> m_input;  // compressed input; unused bytes start at m_stream.next_in
  ::lzma_stream m_stream = LZMA_STREAM_INIT;
  ::lzma_action m_action = LZMA_RUN;
  bool m_done = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::string& file) {
  auto plain = std::make_unique<FileSource>(file);
  if (plain->starts_with(gzip_magic)) return std::make_unique<GzipSource>(std::move(plain));
  if (plain->starts_with(xz_magic)) return std::make_unique<XzSource>(std::move(plain));
  return plain;
}

}  // namespace lutra::Impl
