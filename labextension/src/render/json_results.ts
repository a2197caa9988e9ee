/**
 * Structured results of tools (JSON), and whether the text of a result says the same. Pure.
 *
 * Knows no element. `jupyter_eca/apps/kernel/answer/json_results.py` decides the same for cells.
 */

/** Return the JSON with indents, or a text that is no JSON as it is. */
export function formatJson(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2);
  } catch {
    return json;
  }
}

/**
 * Return whether the text of a result says what its JSON says. MCP asks servers to send both. FastMCP puts a result that is
 * no object into an object with the key `result`, and writes each entry of a list as a text of its own.
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
  return values.some(one => {
    const texts = [asText(one), Array.isArray(one) ? one.map(asText).join('') : asText(one)];
    return texts.some(other => withoutSpace(other) === withoutSpace(text));
  });
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '');
}
