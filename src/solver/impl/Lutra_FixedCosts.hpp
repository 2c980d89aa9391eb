// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_FIXEDCOSTS_HPP
#define LUTRA_FIXEDCOSTS_HPP

#include <utility>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_Options.hpp"

// What `deterministic` changes before an analysis (docs/deterministic.md).

namespace lutra::Impl {

/// The options with costs that no measurement enters, if they ask for the same bits in every run.
template <class ExecutionSpace, class Options>
Options with_fixed_costs(Options options) {
  if (options.deterministic && !options.device_model)
    options.device_model = unmeasured_device_model<ExecutionSpace>();
  return options;
}

/// The options with the engine that adds in a fixed order. On hosts both do, unless several threads factorize
/// by supernodes; on devices the simplicial engine adds with atomics.
/// @throws InputError if the options ask for supernodes on several host threads, or for the simplicial engine
///         on a device
template <class ExecutionSpace>
LuOptions with_fixed_order(LuOptions options) {
  if (is_serial_space<ExecutionSpace> || !options.deterministic) return options;
  if (is_host_space<ExecutionSpace>) {
    if (options.columns.supernodes == ColumnSupernodes::on)
      throw InputError(
          "options: with deterministic several host threads do not factorize by supernodes, which add in any "
          "order (columns.supernodes)");
    return options;
  }
  const bool wants_rows =
      options.engine == Engine::simplicial ||
      (options.symbolic != SymbolicMethod::automatic && options.symbolic != SymbolicMethod::etree);
  if (wants_rows)
    throw InputError(
        "options: with deterministic a device takes the multifrontal engine, since the simplicial one and "
        "its "
        "symbolic methods lead to additions in any order");
  options.engine = Engine::multifrontal;
  return options;
}

}  // namespace lutra::Impl

#endif
