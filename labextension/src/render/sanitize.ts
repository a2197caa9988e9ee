/**
 * Makes HTML that a model wrote safe: it loads nothing, cannot look like a part of Lab, and shows where links lead.
 *
 * It runs after Lab's own sanitiser, which removes scripts but keeps remote images, media and styles. This module knows
 * no Markdown: `markdown.ts` and `widget/markdown.ts` call it.
 */

/** The elements that are kept. Other elements are replaced by their content. */
const TAGS = new Set(
  (
    'A ABBR B BLOCKQUOTE BR CITE CODE DD DEL DETAILS DIV DL DT EM FIGCAPTION FIGURE H1 H2 H3 H4 H5 H6 HR I IMG INPUT ' +
    'INS KBD LI MARK OL P PRE Q S SAMP SMALL SPAN STRONG SUB SUMMARY SUP TABLE TBODY TD TFOOT TH THEAD TR U UL VAR'
  ).split(' ')
);
/**
 * The attributes that are kept. They are listed in two parts, because the formatter would put each name of a longer
 * list on a line of its own.
 */
const ATTRIBUTES = new Set(['align', 'alt', 'checked', 'class', 'colspan', 'dir', 'disabled', 'href', 'lang']);
for (const name of ['open', 'rowspan', 'src', 'start', 'title', 'type']) {
  ATTRIBUTES.add(name);
}
/**
 * Matches the classes that are kept, which are those of highlighted code: `language-python` names the language, and the
 * others are CodeMirror's classes for colours. With any other class of Lab or of its code editor, a text could look
 * like a dialog of Lab or cover a tool call.
 */
const CLASSES = /^(language-[\w+#-]+|cm-s-jupyter|ͼ\w+)$/;
/** Matches the address of an image that contains its data, so that nothing is loaded. */
const DATA_IMAGE = /^data:image\/(png|jpeg|gif|webp|svg\+xml)[;,]/i;
/** Matches the address of a link that leads out of Lab. */
const OUTSIDE_LINK = /^(https?:|mailto:)/i;

/** The attribute with the path of a link to a file of the workspace. Lab opens the file; see `findLinkedPath`. */
const PATH_ATTRIBUTE = 'data-eca-path';

/**
 * Return safe HTML. A remote image is replaced by a link. `describeImage` returns the text of this link. It gets the
 * attribute `alt` of the image, the text that describes the image.
 */
export function sanitizeHtml(html: string, describeImage: (alt: string) => string): string {
  const page = new DOMParser().parseFromString(html, 'text/html');
  for (const element of [...page.body.querySelectorAll('*')]) {
    if (!TAGS.has(element.tagName)) {
      element.replaceWith(...element.childNodes);
      continue;
    }
    for (const name of element.getAttributeNames()) {
      if (!ATTRIBUTES.has(name)) {
        element.removeAttribute(name);
      }
    }
    element.classList.remove(...[...element.classList].filter(name => !CLASSES.test(name)));
    if (element.tagName === 'A') {
      restrictLink(element);
    } else if (element.tagName === 'IMG' && !DATA_IMAGE.test(element.getAttribute('src') ?? '')) {
      element.replaceWith(createImageLink(page, element, describeImage));
    } else if (element.tagName === 'INPUT' && element.getAttribute('type') !== 'checkbox') {
      element.remove();
    }
  }
  return page.body.innerHTML;
}

/** Return the path of the file that a click on `target` should open; undefined if `target` is in no link to a file. */
export function findLinkedPath(target: EventTarget | null): string | undefined {
  const link = target instanceof Element ? target.closest(`[${PATH_ATTRIBUTE}]`) : null;
  return link?.getAttribute(PATH_ATTRIBUTE) ?? undefined;
}

/**
 * Make a link safe. A link to the web shows its address. A link without a scheme would navigate away from Lab, so it
 * opens a file of the workspace instead.
 */
function restrictLink(link: Element): void {
  const address = link.getAttribute('href') ?? '';
  if (OUTSIDE_LINK.test(address)) {
    link.setAttribute('title', address);
    link.setAttribute('target', '_blank');
    // Lab sets `rel` itself afterwards, with fewer restrictions than this.
    link.setAttribute('referrerpolicy', 'no-referrer');
    return;
  }
  link.removeAttribute('href');
  // Matches `scheme:` and `//host`.
  if (address !== '' && !address.startsWith('#') && !/^([a-z][\w+.-]*:|\/\/)/i.test(address)) {
    link.setAttribute(PATH_ATTRIBUTE, decodePath(address));
    link.setAttribute('title', decodePath(address));
    link.setAttribute('role', 'link');
    link.setAttribute('tabindex', '0');
  }
}

/** Return a link that replaces a remote image, so that the image is loaded only when the user follows the link. */
function createImageLink(page: Document, image: Element, describeImage: (alt: string) => string): Element {
  const address = image.getAttribute('src') ?? '';
  const link = page.createElement('a');
  link.textContent = describeImage(image.getAttribute('alt') ?? '');
  link.setAttribute('href', address);
  restrictLink(link);
  return link;
}

/** Return the path in a link: `my%20file.csv` is `my file.csv`. A path with a wrong encoding is returned unchanged. */
function decodePath(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
