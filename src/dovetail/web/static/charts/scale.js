/** Colours and positions for charts. */
import { isDark } from "../core/theme.js";

const LIGHT = [[223, 233, 243], [143, 193, 217], [61, 143, 184], [31, 93, 148], [23, 58, 107]];
const DARK = [[28, 36, 46], [27, 62, 94], [38, 104, 148], [84, 160, 196], [190, 226, 240]];

/** A quantity from 0 to 1 on a scale that is even to the eye, and to the colour-blind. @param {number} share */
export const ramp = (share) => `rgb(${channels(share).join(",")})`;

/** @param {number} share */
function channels(share) {
  const steps = isDark() ? DARK : LIGHT;
  const place = Math.min(0.9999, Math.max(0, share)) * (steps.length - 1);
  const index = Math.floor(place);
  const part = place - index;
  return steps[index].map((low, channel) => Math.round(low + (steps[index + 1][channel] - low) * part));
}

const MIDDLE = 0.18; // the luminance on which black and white are read equally well

/** What can be read on that colour. @param {number} share */
export function onRamp(share) {
  const [red, green, blue] = channels(share).map((value) => (value / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > MIDDLE ? "#000" : "#fff";
}

/** One of ten colours for things without order. @param {number} index */
export const category = (index) => `var(--t${Math.min(9, Math.max(0, index))})`;

/** A round number at or above the largest of these; its half is round too, for the line in the middle. @param {number} largest */
export function roundAbove(largest) {
  if (!(largest > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  return [1, 2, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= largest) ?? largest;
}
