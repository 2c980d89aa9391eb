// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Lutra.hpp>

lutra::CsrView<double, int, std::int64_t, Kokkos::DefaultExecutionSpace> A;
