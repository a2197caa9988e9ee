/**
 * Makes HTML that a model wrote safe: it loads nothing, cannot look like a part of Lab, and shows where links lead.
 *
 * Runs after Lab's own sanitiser, which removes scripts but keeps remote images, media and styles. Knows no Markdown:
 * `markdown.ts` and `widget/markdown.ts` call it.
 */

const TAGS = new Set(
  (
    'A ABBR B BLOCKQUOTE BR CITE CODE DD DEL DETAILS DIV DL DT EM FIGCAPTION FIGURE H1 H2 H3 H4 H5 H6 HR I IMG INPUT ' +
    'INS KBD LI MARK OL P PRE Q S SAMP SMALL SPAN STRONG SUB SUMMARY SUP TABLE TBODY TD TFOOT TH THEAD TR U UL VAR'
  ).split(' ')
);
const ATTRIBUTES = new Set(['align', 'alt', 'checked', 'class', 'colspan', 'dir', 'disabled', 'href', 'lang']);
for (const name of ['open', 'rowspan', 'src', 'start', 'title', 'type']) {
  ATTRIBUTES.add(name);
}
/** The classes of highlighted code. With other classes, also those of its editor, text could look like a dialog of Lab or
 * lie over a tool call. */
const CLASSES = /^(language-[\w+#-]+|cm-s-jupyter|ͼ\w+)$/;
const DRAWN = /^data:image\/(png|jpeg|gif|webp|svg\+xml)[;,]/i;
const LEADS_OUT = /^(https?:|mailto:)/i;

/** The attribute of a link to a file of the workspace, which Lab opens; see `pathOf`. */
const PATH = 'data-eca-path';

/** Return safe HTML. `describeImage` gives the text of the link that replaces a remote image. */
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
    } else if (element.tagName === 'IMG' && !DRAWN.test(element.getAttribute('src') ?? '')) {
      element.replaceWith(createImageLink(page, element, describeImage));
    } else if (element.tagName === 'INPUT' && element.getAttribute('type') !== 'checkbox') {
      element.remove();
    }
  }
  return page.body.innerHTML;
}

/** Return the file that a click in sanitised HTML should open. */
export function pathOf(target: EventTarget | null): string | undefined {
  const link = target instanceof Element ? target.closest(`[${PATH}]`) : null;
  return link?.getAttribute(PATH) ?? undefined;
}

/** A link to the web shows where it leads. A link into the page would navigate away from Lab, so it opens a file. */
function restrictLink(link: Element): void {
  const address = link.getAttribute('href') ?? '';
  if (LEADS_OUT.test(address)) {
    link.setAttribute('title', address);
    link.setAttribute('target', '_blank');
    // Lab sets `rel` itself afterwards, with fewer restrictions than this.
    link.setAttribute('referrerpolicy', 'no-referrer');
    return;
  }
  link.removeAttribute('href');
  if (address !== '' && !address.startsWith('#') && !/^([a-z][\w+.-]*:|\/\/)/i.test(address)) {
    link.setAttribute(PATH, decodePath(address));
    link.setAttribute('title', decodePath(address));
    link.setAttribute('role', 'link');
    link.setAttribute('tabindex', '0');
  }
}

function createImageLink(page: Document, image: Element, describeImage: (alt: string) => string): Element {
  const address = image.getAttribute('src') ?? '';
  const link = page.createElement('a');
  link.textContent = describeImage(image.getAttribute('alt') ?? '');
  link.setAttribute('href', address);
  restrictLink(link);
  return link;
}

function decodePath(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
