// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_RENEWTOGETHER_HPP
#define LUTRA_RENEWTOGETHER_HPP

#include <utility>

#include "Lutra_Communicator.hpp"

namespace lutra::Impl {

/// Collective. target = make() on all ranks; if that throws on one, the target is empty on all, and all throw
/// the same. Use it for objects that are made on first use. All ranks then agree on whether the object
/// exists, so that no rank enters an agreement that the others skip.
///
///     target = {}, on all ──► agree: make() ──► target = what was made, on all
///                                │
///                                └─ out of memory on one: all throw, no rank has a target
///
/// @param where  activity, for messages
/// @param target is emptied first, so that the old and the new are not in memory at once
/// @param make   returns the new one
template <class Target, class Make>
void renew_together(Communicator& comm, const char* where, Target& target, const Make& make) {
  target = Target();
  Target made;
  comm.agree(where, [&] { made = make(); });
  target = std::move(made);
}

}  // namespace lutra::Impl

#endif
