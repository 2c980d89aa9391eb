// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTLOCALE_HPP
#define LUTRA_TESTLOCALE_HPP

#include <clocale>
#include <cstdlib>
#include <string>

#include "Lutra_TestFile.hpp"

namespace lutra::Test {

/// During its lifetime C prints numbers with a decimal comma, as in a program that uses the locale of its
/// user. localedef makes the locale; without it nothing changes.
class CommaLocale {
 public:
  CommaLocale() {
    m_folder.write("comma.src",
                   "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n");
    const std::string make =
        "cd '" + m_folder.path("") + "' && localedef -c -i comma.src ./comma > log 2>&1 || test -d comma";
    if (std::system(make.c_str()) != 0) return;
    ::setenv("LOCPATH", m_folder.path("").c_str(), 1);
    m_there = std::setlocale(LC_NUMERIC, "comma") != nullptr;
  }
  ~CommaLocale() {
    std::setlocale(LC_NUMERIC, "C");
    ::unsetenv("LOCPATH");
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  bool is_there() const { return m_there; }

 private:
  TemporaryFolder m_folder;
  bool m_there = false;
};

}  // namespace lutra::Test

#endif
