/**
 * Offers of the server: actions that the user can start with a click, to open a link or to sign in to an MCP server.
 * Pure.
 *
 * This module knows no view: Lab shows offers as notifications (`panel/notices.ts`), the widget shows them as messages.
 */

/** `link`: a page to open, and what it is about. `signIn`: the name of the MCP server that wants a sign-in. */
export type Offer =
  | { readonly kind: 'link'; readonly text: string; readonly url: string }
  | { readonly kind: 'signIn'; readonly server: string };

/** Split a message that ends with a web address into its text and the address. Return undefined for other messages. */
export function parseLink(message: string): Offer | undefined {
  const [, text, url] = /^(.*?)\s*(https?:\/\/\S+)$/s.exec(message) ?? [];
  return text !== undefined && url !== undefined && URL.canParse(url) ? { kind: 'link', text, url } : undefined;
}
