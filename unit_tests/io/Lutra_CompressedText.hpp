// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COMPRESSEDTEXT_HPP
#define LUTRA_COMPRESSEDTEXT_HPP

#include <lzma.h>
#include <zlib.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace lutra::Test {

inline std::string gzipped(const std::string& content) {
  ::z_stream stream{};
  REQUIRE(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, content.size()) + 64, '\0');
  std::string in = content;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

inline std::string xz_compressed(const std::string& content) {
  std::vector<std::uint8_t> out(::lzma_stream_buffer_bound(content.size()));
  std::size_t size = 0;
  REQUIRE(::lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(content.data()), content.size(),
                                    out.data(), &size, out.size()) == LZMA_OK);
  return {reinterpret_cast<const char*>(out.data()), size};
}

}  // namespace lutra::Test

#endif
