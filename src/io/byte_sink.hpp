// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/bytes.hpp"

namespace tessera::io {

/// Where writers put their bytes: a file, or a member of an archive in it.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void append(Bytes bytes) = 0;
};

}  // namespace tessera::io
