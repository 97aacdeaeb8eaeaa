// Blob, File and FormData.

import { Blob, File, FormData } from "../forms.js";
import { define } from "./define.js";

define({ Blob, File, FormData });
