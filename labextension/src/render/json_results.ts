/**
 * Formats structured results of tools (JSON), and decides whether the text of a result repeats its JSON. Pure.
 *
 * This module draws nothing. `jupyter_eca/apps/kernel/answer/json_results.py` decides the same for cells.
 */

/** Return the JSON with indents. A text that is not JSON is returned unchanged. */
export function formatJson(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2);
  } catch {
    return json;
  }
}

/**
 * Return whether the text of a result repeats its JSON. MCP asks servers to send both. FastMCP, a library for MCP
 * servers, puts a result that is not an object into an object with the key `result`, and writes each entry of a list as
 * a separate text.
 */
export function repeatsText(json: string, text: string): boolean {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return json === text;
  }
  const isWrapped = typeof value === 'object' && value !== null && Object.keys(value).join() === 'result';
  const values = isWrapped ? [value, (value as { readonly result: unknown }).result] : [value];
  return values.some(candidate => {
    const texts = [toText(candidate), Array.isArray(candidate) ? candidate.map(toText).join('') : toText(candidate)];
    return texts.some(other => removeSpace(other) === removeSpace(text));
  });
}

/** Return a string as it is, and any other value as JSON. */
function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Return the text without spaces and line breaks. */
function removeSpace(text: string): string {
  return text.replace(/\s+/g, '');
}
