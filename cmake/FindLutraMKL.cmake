# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Intel MKL by its single dynamic library, which selects its layers at run time: LutraMKL_LIBRARY, which a program opens,
# and LutraMKL_INCLUDE_DIR. Hints: MKLROOT (variable or environment), CMAKE_PREFIX_PATH. The Python packages mkl and
# mkl-include also contain it, but without the library name that linkers look for.
find_path(LutraMKL_INCLUDE_DIR mkl_spblas.h HINTS "${MKLROOT}" ENV MKLROOT PATH_SUFFIXES include include/mkl)
find_library(LutraMKL_LIBRARY NAMES mkl_rt libmkl_rt.so.3 libmkl_rt.so.2 HINTS "${MKLROOT}" ENV MKLROOT
             PATH_SUFFIXES lib lib/intel64)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LutraMKL REQUIRED_VARS LutraMKL_LIBRARY LutraMKL_INCLUDE_DIR)
mark_as_advanced(LutraMKL_INCLUDE_DIR LutraMKL_LIBRARY)
