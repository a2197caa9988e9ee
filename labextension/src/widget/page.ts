/**
 * The clock and the ids that a session needs from the page.
 *
 * Knows no Lab, unlike `panel/panel.tsx`, which uses Lab's.
 */

export function callLater(call: () => void, ms: number): () => void {
  const timer = setTimeout(call, ms);
  return () => {
    clearTimeout(timer);
  };
}

/** Return a new id. `crypto.randomUUID` is not used, because a page that is not served over TLS does not have it. */
export function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('');
}
