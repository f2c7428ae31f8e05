/** Puts text on the clipboard. */

/** Copy a text; returns whether that worked: pages without a secure connection, and some settings, forbid it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
