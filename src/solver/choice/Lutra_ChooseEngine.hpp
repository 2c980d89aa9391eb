// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CHOOSEENGINE_HPP
#define LUTRA_CHOOSEENGINE_HPP

#include <string>

#include "Lutra_DeviceModel.hpp"
#include "Lutra_LuOptions.hpp"

namespace lutra::Impl {

/// What the choice of an engine depends on, beside the options.
struct EngineProperties {
  double flops_per_entry = 0;     ///< of fronts, over the entries of L + U they store, zeros of amalgamation
                                  ///< among them
  bool fronts_fit = true;         ///< the memory limit has room for fronts
  bool block_triangular = false;  ///< the order serves an exact pattern by rows alone
};

struct EngineChoice {
  Engine engine = Engine::simplicial;  ///< never automatic
  std::string reason;                  ///< empty where the caller has chosen
};

/// Whether the multifrontal engine comes into question: it replaces the elimination order by an equivalent
/// one and takes a pattern of its own.
inline bool may_take_fronts(const LuOptions& options) {
  return options.engine == Engine::multifrontal || options.pivoting == Pivoting::threshold ||
         (options.engine == Engine::automatic && options.ordering != Ordering::user &&
          options.symbolic == SymbolicMethod::automatic);
}

/// The engine asked for, or the one predicted to be faster.
///
/// On hosts the simplicial engine wins until fronts have much to do for each entry they store. On devices its
/// updates are bound by memory, and fronts are taken wherever they fit (docs/numeric.md).
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
  const Engine engine = enough_work && properties.fronts_fit ? Engine::multifrontal : Engine::simplicial;
  const std::string name(name_of(engine));
  if (enough_work && !properties.fronts_fit)
    return {engine, name + " engine: fronts would not fit into the memory limit"};
  return {engine, name + " engine: fronts perform " +
                      std::to_string(static_cast<std::int64_t>(properties.flops_per_entry)) +
                      " flops per stored entry"};
}

}  // namespace lutra::Impl

#endif
