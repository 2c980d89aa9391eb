// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Formatted.hpp"

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdarg>
#include <cstdio>
#include <new>

#ifdef __APPLE__
#include <xlocale.h>
#else
#include <locale.h>
#endif

namespace lutra::Impl {
namespace {

/// Sets the calling thread's locale to "C" during its lifetime.
class PlainNumbers {
 public:
  PlainNumbers() {
    static const ::locale_t plain = ::newlocale(LC_NUMERIC_MASK, "C", nullptr);
    if (plain == nullptr) throw std::bad_alloc();
    m_before = ::uselocale(plain);
  }
  ~PlainNumbers() { ::uselocale(m_before); }
  PlainNumbers(const PlainNumbers&) = delete;
  PlainNumbers& operator=(const PlainNumbers&) = delete;

 private:
  ::locale_t m_before;
};

}  // namespace

std::string formatted(const char* format, ...) {
  const PlainNumbers plain;
  std::va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  std::array<char, 256> most;  // for all texts but those with long names
  const int length = std::vsnprintf(most.data(), most.size(), format, arguments);
  va_end(arguments);
  std::string text(most.data(), std::clamp<std::size_t>(length, 0, most.size() - 1));
  if (length >= static_cast<int>(most.size())) {
    text.resize(static_cast<std::size_t>(length));
    std::vsnprintf(text.data(), text.size() + 1, format, again);
  }
  va_end(again);
  return text;
}

}  // namespace lutra::Impl
