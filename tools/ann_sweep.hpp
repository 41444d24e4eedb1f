// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands.hpp"

namespace tessera::cli {

Command add_ann_sweep(CLI::App& group);

}  // namespace tessera::cli
