// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEVELIZATIONTUNING_HPP
#define LUTRA_LEVELIZATIONTUNING_HPP

namespace lutra::Impl {

/// What tests and measurements switch in the levelization; not for users.
struct LevelizationTuning {
  bool portable = false;  ///< the kernels for all execution spaces, also on CUDA
  int thin_level = 64;    ///< on CUDA: levels of up to so many nodes are worked within one block
};

}  // namespace lutra::Impl

#endif
