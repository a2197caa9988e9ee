/**
 * Messages of the server that the user can act on with a click: open a link, sign in to an MCP server. Pure.
 *
 * Knows no view: Lab shows them as notifications (`panel/notices.ts`), the widget as messages.
 */

export type Offer =
  | { readonly kind: 'link'; readonly text: string; readonly url: string }
  | { readonly kind: 'signIn'; readonly server: string };

/** Split a message that ends with a web address into its text and the address. Undefined for every other message. */
export function parseLink(message: string): Offer | undefined {
  const [, text, url] = /^(.*?)\s*(https?:\/\/\S+)$/s.exec(message) ?? [];
  return text !== undefined && url !== undefined && URL.canParse(url) ? { kind: 'link', text, url } : undefined;
}
