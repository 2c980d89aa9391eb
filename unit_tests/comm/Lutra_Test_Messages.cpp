// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <limits>
#include <string>
#include <vector>

#include "Lutra_Messages.hpp"

namespace lutra::Impl {
namespace {

std::span<const std::byte> bytes_of(const std::vector<double>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

TEST_CASE("a put is unpacked as it was packed, and refused where it is cut off", "[comm]") {
  const std::vector<double> values = {1.5, -2.5};
  Bytes message;
  pack_put({3, 16, 1, 7, 0}, bytes_of(values), message);
  const PutMessage put = unpack_put(message);
  CHECK(put.header.memory == 3);
  CHECK(put.header.offset == 16);
  CHECK(put.header.signal == 1);
  CHECK(put.header.value == 7);
  CHECK(put.header.adds == 0);
  CHECK(std::ranges::equal(put.data, bytes_of(values)));
  const auto cut = std::span<const std::byte>(message).first(sizeof(PutHeader) - 1);
  CHECK_THROWS_AS(unpack_put(cut), DamagedMessage);
  CHECK_THROWS_AS(unpack_put({}), DamagedMessage);
}

TEST_CASE("a put outside of its target's memory is refused", "[comm]") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_NOTHROW(check_put({0, 8, 1, 0, 0}, 8, 16, 2));
  CHECK_NOTHROW(check_put({0, 16, 0, 0, 1}, 0, 16, 1));
  const std::vector<PutHeader> outside = {{0, 9, 1, 0, 0}, {0, -8, 1, 0, 0}, {0, most, 1, 0, 0},
                                          {0, 8, 2, 0, 0}, {0, 8, -1, 0, 0}, {0, 8, most, 0, 0},
                                          {0, 8, 1, 0, 2}};
  for (const PutHeader& header : outside) {
    CAPTURE(header.offset, header.signal, header.adds);
    CHECK_THROWS_AS(check_put(header, 8, 16, 2), DamagedMessage);
  }
  CHECK_THROWS_AS(check_put({0, 0, 0, 0, 0}, 17, 16, 1), DamagedMessage);
}

TEST_CASE("a failure is written into memory that is there, and cut where that is short", "[comm]") {
  const Failure failure{2, FailureKind::out_of_memory, "no memory", "fronts"};
  Bytes whole(200), part(28), least(16);
  whole.resize(write_failure(failure, whole));
  CHECK(whole == pack_control(Control::failure, pack_failure(failure)));
  REQUIRE(write_failure(failure, part) == 28);
  const Failure cut = unpack_failure(unpack_control(part).text, 3);
  CHECK(cut.rank == 2);
  CHECK(cut.what == "no memory");
  CHECK(cut.where == "fro");
  REQUIRE(write_failure(failure, least) == 16);
  const Failure kind = unpack_failure(unpack_control(least).text, 3);
  CHECK(kind.kind == FailureKind::out_of_memory);
  CHECK((kind.what + kind.where).empty());
}

TEST_CASE("a failure is unpacked as it was packed, and refused where it is damaged", "[comm]") {
  const Failure failure{2, FailureKind::out_of_memory, "no memory", "fronts"};
  const Bytes text = pack_failure(failure);
  const Failure again = unpack_failure(text, 3);
  CHECK(again.rank == 2);
  CHECK(again.kind == FailureKind::out_of_memory);
  CHECK(again.what == "no memory");
  CHECK(again.where == "fronts");
  CHECK_THROWS_AS(unpack_failure(text, 2), DamagedMessage);  // there is no rank 2
  CHECK_THROWS_AS(unpack_failure(std::span<const std::byte>(text).first(11), 3), DamagedMessage);
  for (const std::size_t number : {std::size_t(0), std::size_t(1), std::size_t(2)}) {
    Bytes damaged = text;
    damaged[4 * number + 3] = std::byte{0x80};  // below 0
    CHECK_THROWS_AS(unpack_failure(damaged, 3), DamagedMessage);
    damaged[4 * number + 3] = std::byte{0x7f};  // too large
    CHECK_THROWS_AS(unpack_failure(damaged, 3), DamagedMessage);
  }
}

TEST_CASE("a control message has a known number", "[comm]") {
  const Bytes message = pack_control(Control::failure, bytes_of({1.0}));
  const ControlMessage control = unpack_control(message);
  CHECK(control.what == Control::failure);
  CHECK(control.text.size() == 8);
  Bytes damaged = message;
  damaged[0] = std::byte{7};
  CHECK_THROWS_AS(unpack_control(damaged), DamagedMessage);
  CHECK_THROWS_AS(unpack_control(std::span<const std::byte>(message).first(3)), DamagedMessage);
}

TEST_CASE("elements of a message are whole and as many as expected", "[comm]") {
  CHECK(count_elements(24, 8) == 3);
  CHECK_THROWS_MATCHES(count_elements(23, 8), DamagedMessage,
                       Catch::Matchers::Message("a damaged message: 23 bytes of elements of 8"));
  CHECK_NOTHROW(require_elements(3, 3));
  CHECK_THROWS_MATCHES(require_elements(2, 3), DamagedMessage,
                       Catch::Matchers::Message("a damaged message: 2 elements instead of 3"));
}

}  // namespace lutra::Impl
