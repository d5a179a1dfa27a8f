/** As JSON. */
export const argumentsLengthMax = 256 * 1024;
export const argumentsDepthMax = 20;
export const tooLarge = "are larger than allowed";

/** What of a value cannot be written down and read again as the same. */
export function whatIsOdd(value: unknown, depthMax: number): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : "hold a number that is too large";
  if (typeof value === "string") return value.isWellFormed() ? null : "hold text that is not well-formed Unicode";
  if (typeof value !== "object" || value === null) return null;
  if (depthMax === 0) return tooLarge;
  for (const [name, inner] of Object.entries(value)) {
    if (name === "__proto__" || !name.isWellFormed()) return "hold a name that cannot be one";
    const odd = whatIsOdd(inner, depthMax - 1);
    if (odd !== null) return odd;
  }
  return null;
}
