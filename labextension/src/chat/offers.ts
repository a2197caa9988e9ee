/** What the server lets the user know of that a click could do. Knows no user interface. */

export type Offer =
  | { readonly kind: 'link'; readonly text: string; readonly url: string }
  | { readonly kind: 'signIn'; readonly server: string };

/** A message that ends with an address: its words, and the address apart. Other schemes than the web's are words. */
export function parseLink(message: string): Offer | undefined {
  const [, text, url] = /^(.*?)\s*(https?:\/\/\S+)$/s.exec(message) ?? [];
  return text !== undefined && url !== undefined && URL.canParse(url) ? { kind: 'link', text, url } : undefined;
}
