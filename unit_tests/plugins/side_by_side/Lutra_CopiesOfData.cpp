// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The address of this datum makes the linker copy it into a program.
#include <locale>

const void* address_of_cxx_data() {
  return &std::ctype<char>::id;
}
