// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_Ordering.hpp"
#include "Lutra_Error.hpp"
