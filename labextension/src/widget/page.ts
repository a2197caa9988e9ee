/**
 * Provides the timer and the ids that a session needs from the page.
 *
 * This module knows no Lab. The panel in Lab has its own timer and ids in `panel/panel.tsx`.
 */

/** Call a function once, after `ms` milliseconds. The returned function cancels the call. */
export function callLater(call: () => void, ms: number): () => void {
  const timer = setTimeout(call, ms);
  return () => {
    clearTimeout(timer);
  };
}

/** Return a new id. `crypto.randomUUID` is not used, because a page that is not served over TLS does not have it. */
export function createId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('');
}
