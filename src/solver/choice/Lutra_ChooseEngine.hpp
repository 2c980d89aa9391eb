// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHOOSEENGINE_HPP
#define LUTRA_CHOOSEENGINE_HPP

#include <string>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_Options.hpp"

namespace lutra::Impl {

/// Properties on which the choice of an engine depends, in addition to the options.
struct EngineProperties {
  /// Flops of the fronts per entry of L + U that they store, including zeros from amalgamation.
  double flops_per_entry = 0;
  bool fronts_fit = true;         ///< fronts fit within the memory limit
  bool may_stream = false;        ///< if they do not, they can be streamed from host memory
  bool block_triangular = false;  ///< the order suits only LU by rows with an exact pattern
};

struct EngineChoice {
  Engine engine = Engine::simplicial;  ///< never automatic
  std::string reason;                  ///< reason for the choice; empty if the caller chose
};

/// Returns whether the options permit the multifrontal engine, which replaces the elimination order by an
/// equivalent one and uses its own pattern.
inline bool may_take_fronts(const LuOptions& options) {
  return options.engine == Engine::multifrontal || options.pivoting == Pivoting::threshold ||
         (options.engine == Engine::automatic && options.ordering != Ordering::user &&
          options.symbolic == SymbolicMethod::automatic);
}

/// Explains why the multifrontal engine does not use the symbolic method asked for; empty if it does.
inline std::string reason_for_etree(const LuOptions& options) {
  if (options.symbolic == SymbolicMethod::automatic || options.symbolic == SymbolicMethod::etree) return "";
  return "multifrontal engine: it takes etree instead of " + std::string(name_of(options.symbolic));
}

/// Returns the requested engine, or the one with the shorter predicted time.
///
/// On hosts the simplicial engine is faster unless fronts perform many flops per stored entry. On devices its
/// updates are limited by memory bandwidth, so fronts are chosen whenever they fit (docs/numeric.md).
inline EngineChoice choose_engine(const LuOptions& options, const EngineProperties& properties,
                                  const NumericDeviceModel& model) {
  if (options.engine != Engine::automatic) return {options.engine, ""};
  if (options.pivoting == Pivoting::threshold)
    return {Engine::multifrontal, "multifrontal engine: threshold pivoting works in its fronts"};
  if (!may_take_fronts(options))
    return {Engine::simplicial, "simplicial engine: it keeps the ordering and the symbolic method asked for"};
  if (properties.block_triangular)
    return {Engine::simplicial, "simplicial engine: its rows do not fill between irreducible blocks"};
  const bool enough_work = properties.flops_per_entry >= model.min_flops_per_entry;
  const bool possible = properties.fronts_fit || properties.may_stream;
  const Engine engine = enough_work && possible ? Engine::multifrontal : Engine::simplicial;
  const std::string name(name_of(engine));
  if (enough_work && !possible) return {engine, name + " engine: fronts would not fit into the memory limit"};
  return {engine, name + " engine: fronts perform " +
                      std::to_string(static_cast<std::int64_t>(properties.flops_per_entry)) +
                      " flops per stored entry"};
}

}  // namespace lutra::Impl

#endif
