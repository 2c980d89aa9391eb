// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_DEVICEARENA_HPP
#define LUTRA_DEVICEARENA_HPP

#include <cstddef>
#include <functional>
#include <memory>

namespace lutra {
class Communicator;
}

namespace lutra::Impl {

/// Device memory of all ranks into which kernels of every rank put: bytes, signals, and an abort word.
class DeviceArena {
 public:
  /// Does not wait. Without `close`, memory that others may still write to is kept until the process ends.
  virtual ~DeviceArena() = default;
  /// Collective: frees the memory once no rank can access it any more.
  virtual void close() = 0;
  /// Bytes of this rank.
  virtual std::byte* bytes() const = 0;
};

/// Collective: allocates an arena for this rank's numbers of bytes and signals, all zero.
using ArenaMaker =
    std::function<std::shared_ptr<DeviceArena>(Communicator& comm, std::size_t bytes, std::size_t signals)>;

}  // namespace lutra::Impl

#endif
