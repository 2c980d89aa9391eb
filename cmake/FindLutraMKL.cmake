# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Intel's MKL by its single dynamic library, which takes the layers it is told to when it runs: LutraMKL_LIBRARY, to be
# opened by a program, and LutraMKL_INCLUDE_DIR. Hints: MKLROOT (variable or environment), CMAKE_PREFIX_PATH. Python's
# packages mkl and mkl-include hold it too, the library without the name linkers look for.
find_path(LutraMKL_INCLUDE_DIR mkl_spblas.h HINTS "${MKLROOT}" ENV MKLROOT PATH_SUFFIXES include include/mkl)
find_library(LutraMKL_LIBRARY NAMES mkl_rt libmkl_rt.so.3 libmkl_rt.so.2 HINTS "${MKLROOT}" ENV MKLROOT
             PATH_SUFFIXES lib lib/intel64)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LutraMKL REQUIRED_VARS LutraMKL_LIBRARY LutraMKL_INCLUDE_DIR)
mark_as_advanced(LutraMKL_INCLUDE_DIR LutraMKL_LIBRARY)
