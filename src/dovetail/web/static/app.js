/** Where the dashboard begins. */
import { begin } from "./core/frame.js";
import { beginTheme } from "./core/theme.js";

beginTheme();
void begin();
