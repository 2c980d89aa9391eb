// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that looks like another version of Kokkos: functions of the same names, which do other things.
// Here they end the process. Debian's PETSc brings such a library into its processes.
#include <cstdlib>
#include <functional>
#include <string>

namespace Kokkos {

class InitializationSettings;

bool is_initialized() {
  std::abort();
}
bool is_finalized() {
  std::abort();
}
void initialize(int&, char**) {
  std::abort();
}
void initialize(const InitializationSettings&) {
  std::abort();
}
void finalize() {
  std::abort();
}
void fence(const std::string&) {
  std::abort();
}
void push_finalize_hook(std::function<void()>) {
  std::abort();
}

namespace Impl {
class ExecSpaceManager {
 public:
  static ExecSpaceManager& get_instance();
};
ExecSpaceManager& ExecSpaceManager::get_instance() {
  std::abort();
}
}  // namespace Impl

}  // namespace Kokkos
