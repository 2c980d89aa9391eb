// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Fill2Options.hpp"

#include <string>
#include <type_traits>

#include "Lutra_CheckEnumerator.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_Gsofa.hpp"
#include "Lutra_Instantiate.hpp"

namespace lutra {
namespace {

void require(bool has_effect, const char* option, const char* kernels) {
  if (!has_effect)
    throw InputError("options: fill2." + std::string(option) + " belongs to the kernel " + kernels);
}

}  // namespace

void check_fill2_options(const Fill2Options& options, bool on_cuda) {
  check_enumerator("options: fill2.kernel", options.kernel, Fill2Kernel::portable);
  check_enumerator("options: fill2.external", options.external, Fill2External::peer);
  check_enumerator("options: fill2.unified", options.unified, Fill2Unified::prefetched);
  if (options.concurrent < 0) throw InputError("options: fill2.concurrent is negative");
  if (!(options.queue_share > 0 && options.queue_share <= 1))
    throw InputError("options: fill2.queue_share has to be above 0 and at most 1");
  const Fill2Kernel kernel =
      options.kernel == Fill2Kernel::automatic && !on_cuda ? Fill2Kernel::portable : options.kernel;
  if (!on_cuda && kernel != Fill2Kernel::portable)
    throw InputError("options: fill2.kernel " + std::string(name_of(kernel)) + " needs CUDA");
  const bool frontiers = kernel == Fill2Kernel::frontiers, portable = kernel == Fill2Kernel::portable;
  require(frontiers || portable || options.window_labels, "window_labels", "frontiers or portable");
  require(frontiers || portable || !options.two_parts, "two_parts", "frontiers or portable");
  require(frontiers || !options.fill_first, "fill_first", "frontiers");
  require(frontiers || options.dynamic, "dynamic", "frontiers");
  require(frontiers || options.queue_share == 1, "queue_share", "frontiers");
  require(frontiers || options.external == Fill2External::none, "external", "frontiers");
  require(frontiers || options.unified == Fill2Unified::off, "unified", "frontiers");
  const bool warps = kernel == Fill2Kernel::automatic || kernel == Fill2Kernel::warps;
  require(warps || options.shared_marks, "shared_marks", "warps, on CUDA");
  require(kernel != Fill2Kernel::groups || options.remove_bubbles, "remove_bubbles",
          "warps, frontiers or portable");
}

namespace Impl {

template <class ExecutionSpace>
Fill2Options fill2_options(const SymbolicOptions& options) {
#ifdef KOKKOS_ENABLE_CUDA
  constexpr bool on_cuda = std::is_same_v<ExecutionSpace, Kokkos::Cuda>;
#else
  constexpr bool on_cuda = false;
#endif
  Fill2Options fill2 = options.fill2;
  if (options.method != SymbolicMethod::fill2 && fill2 != Fill2Options())
    throw InputError("options: fill2.… need the symbolic method fill2");
  if (options.portable) {
    if (fill2.kernel != Fill2Kernel::automatic && fill2.kernel != Fill2Kernel::portable)
      throw InputError("options: fill2.kernel " + std::string(name_of(fill2.kernel)) +
                       " is none of the portable kernels");
    fill2.kernel = Fill2Kernel::portable;
  }
  check_fill2_options(fill2, on_cuda);
  return fill2;
}

#define LUTRA_FILL2_OPTIONS(Space) template Fill2Options fill2_options<Space>(const SymbolicOptions&);
LUTRA_FOR_EACH_SPACE(LUTRA_FILL2_OPTIONS)

}  // namespace Impl
}  // namespace lutra
