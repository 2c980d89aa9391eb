// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TOOLREGION_HPP
#define LUTRA_TOOLREGION_HPP

#include <string_view>

namespace lutra::Impl {

/// A region "lutra::<name>" of Kokkos Tools, from construction to destruction. Without a tool it costs one
/// comparison.
class ToolRegion {
 public:
  explicit ToolRegion(std::string_view name, bool is_wanted = true) : m_is_open(is_wanted && is_watched()) {
    if (m_is_open) push(name);
  }
  ~ToolRegion();
  ToolRegion(const ToolRegion&) = delete;
  ToolRegion& operator=(const ToolRegion&) = delete;

 private:
  static bool is_watched();
  static void push(std::string_view name);
  bool m_is_open;
};

}  // namespace lutra::Impl

#endif
