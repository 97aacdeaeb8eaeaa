// The component imports this last: from here on there are calls.

import { finishLoading } from "./host.js";

finishLoading();
