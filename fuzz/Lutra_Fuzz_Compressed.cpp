// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "Lutra_Fuzz.hpp"
#include "Lutra_LineReader.hpp"

// Lines of a compressed file are those of the text; a file that is cut off or damaged is an error, never
// fewer or other lines. First byte: what is done with the rest.

namespace {

using lutra::Fuzz::require;

std::string gzip(std::string_view text, int level) {
  ::z_stream stream{};
  require(::deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib starts");
  std::string bytes(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int result = ::deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  ::deflateEnd(&stream);
  require(result == Z_STREAM_END, "zlib ends");
  return bytes;
}

std::string xz(std::string_view text) {
  std::string bytes(::lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  const auto* const in = reinterpret_cast<const std::uint8_t*>(text.data());
  auto* const out = reinterpret_cast<std::uint8_t*>(bytes.data());
  require(::lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, in, text.size(), out, &size,
                                    bytes.size()) == LZMA_OK,
          "liblzma encodes");
  bytes.resize(size);
  return bytes;
}

std::vector<std::string> read_lines(const std::string& file) {
  lutra::Impl::LineReader reader(file);
  std::vector<std::string> lines;
  for (std::string_view line; reader.next(line);) lines.emplace_back(line);
  return lines;
}

// Lines without their ends, LF or CR LF; the last one may have none.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// What a decision byte asks for.
struct Plan {
  bool is_xz, in_two_parts, padded, damaged;
  int level;  // of gzip
  explicit Plan(std::uint8_t byte)
      : is_xz((byte & 1) != 0),
        in_two_parts((byte & 2) != 0),
        padded((byte & 4) != 0),
        damaged((byte & 8) != 0),
        level((byte >> 4) % 10) {}
  std::string compressed(std::string_view text) const { return is_xz ? xz(text) : gzip(text, level); }
};

void check_whole(const Plan& plan, std::string_view text, std::uint8_t where) {
  const std::size_t half = plan.in_two_parts ? std::min<std::size_t>(where, text.size()) : 0;
  std::string bytes = plan.in_two_parts ? plan.compressed(text.substr(0, half)) : std::string();
  bytes += plan.compressed(text.substr(half));
  if (plan.padded) bytes.append(4 * (1 + where % 3u), '\0');  // .xz allows multiples of four
  require(read_lines(lutra::Fuzz::written("lines", bytes)) == split(text), "lines are those of the text");
}

// Cuts the file off, or flips a bit after its first bytes, which tell the format.
void check_damaged(const Plan& plan, std::string_view text, std::uint8_t where) {
  constexpr std::size_t head = 12;
  std::string bytes = plan.compressed(text);
  const std::size_t place = head + (where * 251u + text.size()) % (bytes.size() - head);
  if (plan.in_two_parts) {
    bytes.resize(place);
  } else {
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << (where % 8u)));
  }
  std::vector<std::string> lines;
  const std::string file = lutra::Fuzz::written("damaged", bytes);
  if (lutra::Fuzz::accepted([&] { lines = read_lines(file); }))
    require(!plan.in_two_parts && lines == split(text), "damage is an error");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lutra::Fuzz::Input input(data, size);
  const std::uint8_t kind = input.take_byte();
  if (kind == 0xff) {  // the rest is the file
    const std::string file = lutra::Fuzz::written("raw", input.text());
    lutra::Fuzz::accepted([&] { read_lines(file); });
    return 0;
  }
  const std::uint8_t where = input.take_byte();
  const Plan plan(kind);
  if (plan.damaged) {
    check_damaged(plan, input.text(), where);
  } else {
    check_whole(plan, input.text(), where);
  }
  return 0;
}
