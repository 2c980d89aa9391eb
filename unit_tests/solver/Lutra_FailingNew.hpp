// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FAILINGNEW_HPP
#define LUTRA_FAILINGNEW_HPP

#include <functional>
#include <set>

namespace lutra::Test {

/// The program's own operator new, of which one call fails. A first run of the code under test finds how many
/// there are, and which of them cannot fail: Kokkos copies labels in destructors, where an exception ends the
/// program. One object at a time.
class FailingNew {
 public:
  FailingNew();
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  /// Runs a call and counts what it allocates.
  void record(const std::function<void()>& call);
  /// Allocations of the call that was recorded, numbered from 1.
  long count() const { return m_count; }
  bool may_fail(long allocation) const { return !m_exempt.contains(allocation); }
  /// Runs the same call from the same state; one allocation fails. @returns whether that ended in
  /// std::bad_alloc
  static bool fail(long allocation, const std::function<void()>& call);

 private:
  std::set<long> m_exempt;
  long m_count = 0;
};

}  // namespace lutra::Test

#endif
