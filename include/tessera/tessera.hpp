// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/distances.hpp"
#include "tessera/dump.hpp"
#include "tessera/cell.hpp"
#include "tessera/error.hpp"
#include "tessera/graph.hpp"
#include "tessera/info.hpp"
#include "tessera/io.hpp"
#include "tessera/knn.hpp"
#include "tessera/metric.hpp"
#include "tessera/options.hpp"
#include "tessera/progress.hpp"
#include "tessera/recall.hpp"
#include "tessera/result.hpp"
#include "tessera/rows.hpp"
